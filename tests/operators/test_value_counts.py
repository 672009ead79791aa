"""Counts of values: buffers that Spark writes and reads, stages, and spilling."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.exec.execute import execute
from pyspark_pipeline.operators.aggregation.functions import value_counts
from pyspark_pipeline.operators.aggregation.functions.value_codes import value_coder
from pyspark_pipeline.operators.aggregation.functions.value_counts import ValueCountState
from pyspark_pipeline.plan.expr import Expr, Literal
from pyspark_pipeline.plan.nodes import AggregateCall
from tests.operators.aggregate_kit import chunks_of, complete_node, leaf, partial_node, rows_of, run_stages
from tests.operators.kit import column, run, to_table
from tests.operators.sort_kit import counted, limited
from tests.operators.spark_aggregate import SparkAggregate
from tests.operators.spill_kit import spill_folder  # noqa: F401 (a fixture for every test)

_NAN, _INFINITY = float("nan"), float("inf")
POOLS: dict[str, list[Any]] = {
    "boolean": [True, False],
    "tinyint": [-128, 127, 0, 5],
    "smallint": [-(2**15), 3, 2**15 - 1],
    "int": [2**31 - 1, -(2**31), 5, -1],
    "bigint": [2**63 - 1, -(2**63), 7, 0],
    "float": [0.5, -1.5, _NAN, _INFINITY, -_INFINITY, 3.0],
    "double": [0.1, -1e300, 5e-324, _NAN, _INFINITY, -_INFINITY, 0.0],
    "decimal(9,2)": [Decimal("1.10"), Decimal("-7.77"), Decimal("0.00")],
    "decimal(18,4)": [Decimal("-99999999999999.9999"), Decimal("0.0001"), Decimal("12.5000")],
    "decimal(38,10)": [Decimal("1.0000000001"), Decimal("-1"), Decimal("12800000000"), Decimal(-(10**27)), Decimal(0)],
    "decimal(38,0)": [Decimal(10**38 - 1), Decimal(1 - 10**38), Decimal(127), Decimal(128), Decimal(-128)],
    "string": ["", "a", "eight by", "nine byte", "日本 and more"],
    "binary": [b"", b"\xff\x00", b"abc" * 9],
    "date": [datetime.date(1969, 12, 31), datetime.date(2020, 2, 29)],
    "timestamp_ntz": [datetime.datetime(1969, 12, 31), datetime.datetime(2020, 2, 29, 1, 2, 3, 4)],
}
NUMERIC = [kind for kind in POOLS if kind not in ("boolean", "string", "binary", "date", "timestamp_ntz")]


class _SparkCounts(SparkAggregate):
    """Spark's Mode over a column of one type, whose buffers are those of Percentile."""

    def __init__(self, vanilla: Any, kind: str) -> None:
        super().__init__(vanilla, kind, "Mode", True)

    def counts(self, buffer: bytes) -> dict[str, int]:
        """Return the counts of a buffer by the text of the value."""
        found = self.read(buffer).iterator()
        made = {}
        while found.hasNext():
            pair = found.next()
            made[self.jvm.String.valueOf(pair._1())] = int(pair._2())
        return made


def _column(kind: str, values: list[Any]) -> pa.Array:
    return pa.array(values, parse_type(kind).arrow)


def _state(kind: str, values: list[Any], groups: Any = None) -> ValueCountState:
    state = ValueCountState(value_coder(parse_type(kind)))
    state.update(np.zeros(len(values), dtype=np.int64) if groups is None else groups, [_column(kind, values)])
    return state


@pytest.mark.parametrize("kind", NUMERIC)
def test_buffer_of_one_value_has_the_bytes_of_spark(vanilla: Any, kind: str) -> None:
    spark = _SparkCounts(vanilla, kind)
    for value in POOLS[kind]:
        assert _state(kind, [value, None, value]).columns(0, 1)[0][0].as_py() == spark.buffer([value, value])


@pytest.mark.parametrize("kind", [*NUMERIC, "boolean", "string"])
def test_spark_reads_the_buffers(vanilla: Any, kind: str) -> None:
    spark = _SparkCounts(vanilla, kind)
    values = [*POOLS[kind], *POOLS[kind][:2], None]
    made = _state(kind, values).columns(0, 1)[0][0].as_py()
    assert spark.counts(made) == spark.counts(spark.buffer([v for v in values if v is not None]))
    assert _state(kind, []).columns(0, 1)[0][0].as_py() == spark.buffer([])


@pytest.mark.parametrize("kind", [*NUMERIC, "boolean", "string"])
def test_buffers_of_spark_are_merged(vanilla: Any, kind: str) -> None:
    spark = _SparkCounts(vanilla, kind)
    first, second = POOLS[kind], [*POOLS[kind][:2], *POOLS[kind][1:]]
    merged = ValueCountState(value_coder(parse_type(kind)))
    buffers = pa.array([spark.buffer(first), spark.buffer([]), spark.buffer(second), spark.buffer(first[:1])])
    merged.merge(np.array([1, 2, 1, 0]), buffers)
    groups = np.array([0, *[1] * (len(first) + len(second))])
    direct = _state(kind, [first[0], *first, *second], groups)
    found, expected = (state.columns(0, 4)[0].to_pylist() for state in (merged, direct))
    assert [spark.counts(buffer) for buffer in found] == [spark.counts(buffer) for buffer in expected]


@pytest.mark.parametrize("kind", POOLS)
def test_buffers_are_merged_again(kind: str) -> None:
    dice = random.Random(3)
    values = [dice.choice([None, *POOLS[kind]]) for _ in range(500)]
    groups = np.array([dice.randrange(9) for _ in values])
    direct = _state(kind, values, groups)
    parts = pa.chunked_array([_state(kind, values[i::3], groups[i::3]).columns(0, 9)[0] for i in range(3)])
    merged = ValueCountState(value_coder(parse_type(kind)))
    for part in parts.chunks:
        merged.merge(np.arange(4, 9), part.slice(4))
        merged.merge(np.arange(4), part.slice(0, 4))
    assert merged.bounds(0, 9).tolist() == direct.bounds(0, 9).tolist()
    decoded = [state.coder.decode(state.codes(slice(0, None))).to_pylist() for state in (direct, merged)]
    assert repr(sorted(decoded[0], key=repr)) == repr(sorted(decoded[1], key=repr))


def test_entries_are_combined_before_they_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_counts, "_MIN_ENTRIES", 100)
    state = ValueCountState(value_coder(parse_type("int")))
    for _ in range(200):
        state.update(np.arange(50) % 5, [pa.array(np.arange(50) % 10, pa.int32())])
    assert state.nbytes < 30_000
    assert state.bounds(0, 5).tolist() == [0, 2, 4, 6, 8, 10]
    assert state.entries.reshape(-1, 3)[:10, 2].tolist() == [1000] * 10


@pytest.mark.parametrize("kind", ["int", "decimal(38,0)", "string"])
def test_taken_groups_are_renumbered(kind: str) -> None:
    values = [POOLS[kind][i % 3] for i in range(40)]
    groups = np.arange(40) % 5
    state = _state(kind, values, groups)
    state.reserve(5)
    state.take(np.array([1, 3, 4]))
    state.reserve(4)
    state.update(np.array([0, 3]), [_column(kind, values[:2])])
    numbers = [{1: 0, 3: 1, 4: 2}.get(group) for group in groups.tolist()]
    kept = [(number, value) for number, value in zip(numbers, values, strict=True) if number is not None]
    kept += [(0, values[0]), (3, values[1])]
    expected = _state(kind, [value for _, value in kept], np.array([group for group, _ in kept]))
    assert state.bounds(0, 4).tolist() == expected.bounds(0, 4).tolist()
    found = [each.coder.decode(each.codes(slice(0, None))).to_pylist() for each in (state, expected)]
    assert sorted(found[0]) == sorted(found[1])
    before = state.entries
    state.take(np.arange(4))
    assert state.entries is before


def _calls(child: Any, kind: str) -> list[AggregateCall]:
    value = column(child, "v0")
    made = []
    for name, fields in (("Percentile", {"reverse": False}), ("Mode", {"reverseOpt": True})):
        if name == "Percentile" and kind not in NUMERIC:
            continue
        others = (_literal(0.3, "double"), _literal(1, "bigint")) if name == "Percentile" else ()
        made.append(
            AggregateCall(
                function=name, mode="Partial", args=(value, *others), arg_types=(value.type, *(o.type for o in others)),
                filter=None, type=parse_type("double") if others else value.type, buffer=(parse_type("binary"),),
                fields=fields, constants=(None, *others),
            )
        )  # fmt: skip
    return made


def _literal(value: Any, kind: str) -> Literal:
    return Literal(type=parse_type(kind), nullable=False, value=value)


@pytest.mark.parametrize("kind", [k for k in POOLS if k != "binary"])
def test_stages_and_spilled_groups_equal_one_stage(kind: str) -> None:
    dice = random.Random(5)
    keys = [dice.randrange(300) for _ in range(3000)]
    values = [dice.choice([None, *POOLS[kind]]) for _ in keys]
    table = pa.table({"k": pa.array(keys, pa.int32()), "v0": _column(kind, values)})
    child = leaf(f"k:int, v0:{kind.replace(',', ';')}", chunks_of(table, 200))
    grouping: list[Expr] = [column(child, "k")]
    calls = _calls(child, kind)
    node = complete_node(child, grouping, calls)
    expected = rows_of(run(node))
    first = partial_node(child, grouping, calls)
    assert rows_of(run_stages(first)) == expected
    assert rows_of(run_stages(first, merge_between=True)) == expected
    instance = limited(node, 60_000)
    assert rows_of(to_table(node, list(execute(instance, 1)))) == expected
    assert counted(instance, "spill_files") >= 16
