"""Every aggregate function over every type returns Spark's result, in one stage, two and three."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.plan.expr import Expr
from tests.operators.aggregate_kit import (
    aggregate_call,
    chunks_of,
    complete_node,
    leaf,
    partial_node,
    rows_of,
    run_stages,
)
from tests.operators.kit import Chunks, call, column, literal, run

ROWS = 700
_random = random.Random(7)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def _decimal(precision: int, scale: int) -> Decimal:
    return Decimal(_random.randint(-(10**precision) + 1, 10**precision - 1)).scaleb(-scale)


MAKERS: dict[str, Any] = {
    "boolean": lambda: _random.random() < 0.5,
    "tinyint": lambda: _random.randint(-128, 127),
    "smallint": lambda: _random.randint(-300, 300),
    "int": lambda: _random.randint(-(2**31), 2**31 - 1),
    "bigint": lambda: _random.choice([_random.randint(-(2**50), 2**50), 0, 5, -5]),
    "float": lambda: _random.choice([0.0, -0.0, 1.5, -2.25, float("nan"), float("inf"), 3.0]),
    "double": lambda: _random.choice([0.0, -0.0, 1e10, -2.25, float("nan"), float("-inf"), 0.1]),
    "decimal(5;2)": lambda: _decimal(5, 2),
    "decimal(18;0)": lambda: _decimal(18, 0),
    "decimal(20;3)": lambda: _decimal(20, 3),
    "decimal(28;10)": lambda: _decimal(28, 10),
    "string": lambda: _random.choice(["", "a", "B", "é", "日本", "abc" * 20, "ab"]),
    "binary": lambda: _random.choice([b"", b"\x80", b"a", b"\xff\x00"]),
    "date": lambda: datetime.date(1969, 12, 1) + datetime.timedelta(days=_random.randint(0, 60)),
    "timestamp": lambda: _EPOCH + datetime.timedelta(microseconds=_random.randint(-(10**12), 10**12)),
    "timestamp_ntz": lambda: datetime.datetime(2020, 1, 1) + datetime.timedelta(microseconds=_random.randint(0, 10**9)),
}
KINDS = list(MAKERS)
NUMERIC = [k for k in KINDS if k.startswith(("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"))]
SQL = {"Sum": "sum", "Average": "avg", "Min": "min", "Max": "max", "Count": "count"}
SPEC = "k:int, " + ", ".join(f"v{i}:{kind}" for i, kind in enumerate(KINDS))
CALLS = [
    (name, f"v{i}")
    for i, kind in enumerate(KINDS)
    for name in (SQL if kind in NUMERIC else ("Min", "Max", "Count"))
]
CALLS_SQL = ", ".join(f"{SQL[name]}({value})" for name, value in CALLS)


def _value_columns(keys: list[int | None], nulls: float) -> dict[str, pa.Array]:
    """Build a column of every type; key 3 has only NULLs."""
    made = {}
    for i, kind in enumerate(KINDS):
        data = [None if k == 3 or _random.random() < nulls else MAKERS[kind]() for k in keys]
        made[f"v{i}"] = pa.array(data, parse_type(kind.replace(";", ",")).arrow)
    return made


def _table(nulls: float = 0.2) -> pa.Table:
    keys = [_random.choice([1, 2, 3, None, 1000 + i]) for i in range(ROWS)]
    return pa.table({"k": pa.array(keys, pa.int32()), **_value_columns(keys, nulls)})


def _spark_rows(vanilla: Any, tmp_path: Any, table: pa.Table, query: str) -> list[tuple[Any, ...]]:
    pq.write_table(table, tmp_path / "t.parquet", store_schema=False)
    vanilla.read.parquet(str(tmp_path / "t.parquet")).createOrReplaceTempView("t")
    return rows_of(vanilla.sql(query).toArrow())


def _assert_stages(child: Chunks, keys: list[Expr], expected: list[tuple[Any, ...]]) -> None:
    calls = [aggregate_call(name, column(child, value)) for name, value in CALLS]
    first = partial_node(child, keys, calls)
    assert rows_of(run_stages(first)) == expected
    assert rows_of(run_stages(first, merge_between=True)) == expected
    assert rows_of(run(complete_node(child, keys, calls))) == expected


def test_functions_by_key_equal_spark(vanilla: Any, tmp_path: Any) -> None:
    table = _table()
    expected = _spark_rows(vanilla, tmp_path, table, f"select k, {CALLS_SQL} from t group by k")
    child = leaf(SPEC, chunks_of(table, 100))
    _assert_stages(child, [column(child, "k")], expected)


@pytest.mark.parametrize("rows", ["some", "all null", "none", "one"])
def test_functions_without_key_equal_spark(vanilla: Any, tmp_path: Any, rows: str) -> None:
    table = _table(1.0 if rows == "all null" else 0.2).slice(0, {"none": 0, "one": 1}.get(rows, ROWS))
    expected = _spark_rows(vanilla, tmp_path, table, f"select {CALLS_SQL} from t")
    assert len(expected) == 1
    _assert_stages(leaf(SPEC, chunks_of(table, 100)), [], expected)


@pytest.mark.parametrize("place", range(len(KINDS)), ids=KINDS)
def test_key_of_every_type_equals_spark(vanilla: Any, tmp_path: Any, place: int) -> None:
    table = _table()
    expected = _spark_rows(vanilla, tmp_path, table, f"select v{place}, count(k), sum(k) from t group by v{place}")
    child = leaf(SPEC, chunks_of(table, 64))
    calls = [aggregate_call("Count", column(child, "k")), aggregate_call("Sum", column(child, "k"))]
    assert rows_of(run_stages(partial_node(child, [column(child, f"v{place}")], calls))) == expected


def test_keys_of_all_types_together_equal_spark(vanilla: Any, tmp_path: Any) -> None:
    table = _table().take(pa.array([i % 37 for i in range(ROWS)]))
    names = ", ".join(table.column_names)
    expected = _spark_rows(vanilla, tmp_path, table, f"select {names}, count(1) from t group by {names}")
    child = leaf(SPEC, chunks_of(table, 90))
    keys: list[Expr] = [column(child, name) for name in table.column_names]
    first = partial_node(child, keys, [aggregate_call("Count", literal(1, "int"))])
    assert rows_of(run_stages(first)) == expected


def test_filter_clauses_equal_spark(vanilla: Any, tmp_path: Any) -> None:
    table = _table()
    query = "select k, sum(v4) filter (where v3 > 0), count(v11) filter (where v0), count(1) from t group by k"
    expected = _spark_rows(vanilla, tmp_path, table, query)
    child = leaf(SPEC, chunks_of(table, 100))
    positive = call("GreaterThan", "boolean", column(child, "v3"), literal(0, "int"))
    calls = [
        aggregate_call("Sum", column(child, "v4"), condition=positive),
        aggregate_call("Count", column(child, "v11"), condition=column(child, "v0")),
        aggregate_call("Count", literal(1, "int")),
    ]
    assert rows_of(run_stages(partial_node(child, [column(child, "k")], calls))) == expected
