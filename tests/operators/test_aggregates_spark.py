"""Every aggregate function over every type gives what Spark gives, in one stage, two and three."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.plan.nodes import Aggregate
from tests.operators.aggregate_kit import (
    aggregate_call,
    chunks_of,
    complete_node,
    leaf,
    partial_node,
    rows_of,
    run,
    run_stages,
)
from tests.operators.kit import column

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
NUMERIC = [k for k in MAKERS if k.startswith(("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"))]
SQL = {"Sum": "sum", "Average": "avg", "Min": "min", "Max": "max", "Count": "count"}


def _functions(kind: str) -> list[str]:
    return ["Sum", "Average", "Min", "Max", "Count"] if kind in NUMERIC else ["Min", "Max", "Count"]


def _column(kind: str, nulls: float) -> pa.Array:
    made = [None if _random.random() < nulls else MAKERS[kind]() for _ in range(ROWS)]
    return pa.array(made, parse_type(kind.replace(";", ",")).arrow)


def _spark_rows(spark: Any, tmp_path: Any, table: pa.Table, query: str) -> list[tuple[Any, ...]]:
    pq.write_table(table, tmp_path / "t.parquet", store_schema=False)
    spark.read.parquet(str(tmp_path / "t.parquet")).createOrReplaceTempView("t")
    return rows_of(spark.sql(query).toArrow())


def _nodes(kind: str, table: pa.Table) -> tuple[Any, Any]:
    child = leaf(f"k:int, v:{kind}", chunks_of(table, 100))
    calls = [aggregate_call(name, column(child, "v")) for name in _functions(kind)]
    return child, calls


@pytest.mark.parametrize("kind", MAKERS)
def test_functions_by_key(spark: Any, tmp_path: Any, kind: str) -> None:
    keys = pa.array([_random.choice([1, 2, 3, None, 1000 + i]) for i in range(ROWS)], pa.int32())
    values = pa.array([None if k == 3 else v for k, v in zip(keys.to_pylist(), _column(kind, 0.2).to_pylist(),
                                                            strict=True)], parse_type(kind.replace(";", ",")).arrow)
    table = pa.table({"k": keys, "v": values})
    calls_sql = ", ".join(f"{SQL[name]}(v)" for name in _functions(kind))
    expected = _spark_rows(spark, tmp_path, table, f"select k, {calls_sql} from t group by k")
    child, calls = _nodes(kind, table)
    grouping = [column(child, "k")]
    first = partial_node(child, grouping, calls)
    assert rows_of(run_stages(first)) == expected
    assert rows_of(run_stages(first, merge_between=True)) == expected
    assert rows_of(run(complete_node(child, grouping, calls))) == expected


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("empty", ["some", "all null", "no rows"])
def test_functions_without_key(spark: Any, tmp_path: Any, kind: str, empty: str) -> None:
    values = _column(kind, 1.0 if empty == "all null" else 0.2)
    table = pa.table({"k": pa.array(range(ROWS), pa.int32()), "v": values}).slice(0, 0 if empty == "no rows" else ROWS)
    calls_sql = ", ".join(f"{SQL[name]}(v)" for name in _functions(kind))
    expected = _spark_rows(spark, tmp_path, table, f"select {calls_sql} from t")
    child, calls = _nodes(kind, table)
    first: Aggregate = partial_node(child, [], calls)
    assert rows_of(run_stages(first)) == expected
    assert rows_of(run_stages(first, merge_between=True)) == expected
    assert rows_of(run(complete_node(child, [], calls))) == expected


@pytest.mark.parametrize("kind", MAKERS)
def test_a_key_of_every_type(spark: Any, tmp_path: Any, kind: str) -> None:
    table = pa.table({"k": pa.array(range(ROWS), pa.int32()), "v": _column(kind, 0.1)})
    expected = _spark_rows(spark, tmp_path, table, "select v, count(k), sum(k) from t group by v")
    child = leaf(f"k:int, v:{kind}", chunks_of(table, 64))
    calls = [aggregate_call("Count", column(child, "k")), aggregate_call("Sum", column(child, "k"))]
    assert rows_of(run_stages(partial_node(child, [column(child, "v")], calls))) == expected


def test_keys_of_all_types_together(spark: Any, tmp_path: Any) -> None:
    kinds = list(MAKERS)
    names = [f"k{i}" for i in range(len(kinds))]
    columns = {name: _column(kind, 0.3).take(pa.array([i % 37 for i in range(ROWS)]))
               for name, kind in zip(names, kinds, strict=True)}
    table = pa.table(columns)
    expected = _spark_rows(
        spark, tmp_path, table, f"select {', '.join(names)}, count(1) from t group by {', '.join(names)}"
    )
    child = leaf(", ".join(f"{n}:{k}" for n, k in zip(names, kinds, strict=True)), chunks_of(table, 90))
    keys = [column(child, name) for name in names]
    call = aggregate_call("Count", column(child, "k0"))
    from tests.operators.kit import literal

    call = aggregate_call("Count", literal(1, "int"))
    assert rows_of(run_stages(partial_node(child, keys, [call]))) == expected
