"""Sort outputs Spark's order for every type and direction, stably, for any number of chunks and drivers."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.nodes import Settings
from tests.operators.aggregate_kit import chunks_of, leaf
from tests.operators.kit import Builder, call, column, literal, run
from tests.operators.sort_kit import DIRECTIONS, VALUES, Direction, column_values, sort, sorted_numbers

SMALL = Settings(ansi=True, time_zone="UTC", options=Options({"batchRows": "4"}))


def spec_of(kinds: list[str]) -> str:
    return ", ".join(["row:bigint", *(f"k{i}:{kind.replace(',', ';')}" for i, kind in enumerate(kinds))])


def table_of(kinds: list[str], rows: list[tuple[Any, ...]]) -> pa.Table:
    columns: dict[str, pa.Array] = {"row": pa.array(range(len(rows)), pa.int64())}
    for i, kind in enumerate(kinds):
        columns[f"k{i}"] = pa.array([row[i] for row in rows], parse_type(kind).arrow)
    return pa.table(columns)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[str], list[Direction], list[tuple[Any, ...]], int, int]:
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3))
    directions = [draw(DIRECTIONS) for _ in kinds]
    row = st.tuples(*(st.one_of(st.none(), VALUES[kind]) for kind in kinds))
    if draw(st.booleans()):
        row = st.sampled_from(draw(st.lists(row, min_size=1, max_size=4)))
    rows = draw(st.lists(row, max_size=30))
    return kinds, directions, rows, draw(st.integers(1, 9)), draw(st.sampled_from([1, 3]))


@settings(max_examples=300, deadline=None)
@given(cases())
def test_sort_order_equals_the_oracle(case: Any) -> None:
    kinds, directions, rows, chunk_rows, dop = case
    table = table_of(kinds, rows)
    names = [f"k{i}" for i in range(len(kinds))]
    node = sort(leaf(spec_of(kinds), chunks_of(table, chunk_rows)), names, directions)
    made = run(node, builder=Builder(SMALL, dop=dop))
    keys = [column_values(table[name]) for name in names]
    expected = sorted_numbers(keys, directions)
    if dop == 1:
        assert made["row"].to_pylist() == expected
    assert sorted(made["row"].to_pylist()) == sorted(expected)
    for name in names:
        got, wanted = column_values(made[name]), [column_values(table[name])[i] for i in expected]
        assert [as_key(v) for v in got] == [as_key(v) for v in wanted]


def as_key(value: Any) -> Any:
    return "NaN" if value != value else value


@pytest.mark.parametrize("rows", [0, 1, 4, 5, 8, 9])
def test_sorted_chunks_have_batch_rows(rows: int) -> None:
    table = pa.table({"row": pa.array(range(rows), pa.int64())})
    node = sort(leaf("row:bigint", chunks_of(table, 3)), ["row"], [Direction(descending=True)])
    assert run(node, builder=Builder(SMALL))["row"].to_pylist() == list(range(rows))[::-1]


def test_sort_keys_may_be_expressions() -> None:
    table = pa.table({"a": pa.array([5, None, -7, 3], pa.int32())})
    child = leaf("a:int", chunks_of(table, 2))
    node = sort(child, ["a"], [Direction()])
    negated = call("Multiply", "int", column(child, "a"), literal(-1, "int"), evalMode="LEGACY")
    keys = tuple(type(key)(expr=negated) for key in node.keys)
    assert run(type(node)(output=child.output, keys=keys, child=child))["a"].to_pylist() == [None, 5, 3, -7]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1, 2, 50, 10**9]), st.booleans())
def test_sort_of_many_equal_and_unequal_strings(seed: int, distinct: int, descending: bool) -> None:
    values = [f"customer of no. {(seed + i * 7919) % distinct:020d} in town {i % 3}" for i in range(3000)]
    table = pa.table({"row": pa.array(range(len(values)), pa.int64()), "k": values})
    direction = Direction(descending=descending)
    node = sort(leaf("row:bigint, k:string", chunks_of(table, 700)), ["k"], [direction])
    assert run(node)["row"].to_pylist() == sorted_numbers([values], [direction])
