"""TopN returns the rows of a sort with a limit, and holds few rows during execution."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.exec.execute import execute
from pyspark_pipeline.operators.sorting.top_n_filter import TopNThreshold
from tests.operators.aggregate_kit import chunks_of, leaf
from tests.operators.kit import Builder, run
from tests.operators.sort_kit import (
    DIRECTIONS,
    VALUES,
    Direction,
    column_values,
    compare,
    limited,
    sorted_numbers,
    top_n,
)
from tests.operators.test_sort import SMALL, as_key, spec_of, table_of


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, ...]:
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3))
    row = st.tuples(*(st.one_of(st.none(), VALUES[kind]) for kind in kinds))
    if draw(st.booleans()):
        row = st.sampled_from(draw(st.lists(row, min_size=1, max_size=4)))
    limit = draw(st.integers(0, 12))
    return (
        kinds,
        [draw(DIRECTIONS) for _ in kinds],
        draw(st.lists(row, max_size=30)),
        draw(st.integers(1, 9)),
        draw(st.sampled_from([1, 3])),
        limit,
        draw(st.integers(0, limit + 1)),
    )


@settings(max_examples=300, deadline=None)
@given(cases())
def test_top_n_rows_equal_the_oracle(case: Any) -> None:
    kinds, directions, rows, chunk_rows, dop, limit, offset = case
    table = table_of(kinds, rows)
    names = [f"k{i}" for i in range(len(kinds))]
    node = top_n(leaf(spec_of(kinds), chunks_of(table, chunk_rows)), names, directions, limit, offset)
    made = run(node, builder=Builder(SMALL, dop=dop))
    keys = [column_values(table[name]) for name in names]
    expected = sorted_numbers(keys, directions)[offset:limit]
    if dop == 1:
        assert made["row"].to_pylist() == expected
    for name in names:
        got, wanted = column_values(made[name]), [column_values(table[name])[i] for i in expected]
        assert [as_key(v) for v in got] == [as_key(v) for v in wanted]


@pytest.mark.parametrize("direction", [False, True])
def test_top_n_of_many_chunks(direction: bool) -> None:
    values = [(i * 7919) % 100_003 for i in range(100_000)]
    table = pa.table({"row": pa.array(range(len(values)), pa.int64()), "k": pa.array(values, pa.int64())})
    child = leaf("row:bigint, k:bigint", chunks_of(table, 1000))
    node = top_n(child, ["k"], [Direction(descending=direction)], 100, 10)
    assert run(node)["k"].to_pylist() == sorted(values, reverse=direction)[10:100]


@pytest.mark.parametrize("kind", sorted(set(VALUES) - {"void", "timestamp"}))
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("nulls_first", [False, True])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_threshold_drops_exactly_rows_after_the_worst(
    kind: str, descending: bool, nulls_first: bool, data: st.DataObject
) -> None:
    direction, arrow = Direction(descending, nulls_first), parse_type(kind).arrow
    value = st.one_of(st.none(), VALUES[kind])
    worst = pa.array([data.draw(value)], arrow)
    column = pa.array(data.draw(st.lists(value, max_size=8)), arrow)
    child = leaf(f"k:{kind.replace(',', ';')}", [])
    filtering = TopNThreshold(top_n(child, ["k"], [direction], 1).keys[0], worst)
    wanted = [v for v in column_values(column) if compare(v, column_values(worst)[0], direction) <= 0]
    if not filtering.drops_any:
        assert len(wanted) == len(column)
        return
    for array in (column, column.dictionary_encode()):
        stays = filtering.keeps(array)
        assert stays.null_count == 0
        assert [as_key(v) for v in column_values(column.filter(stays))] == [as_key(v) for v in wanted]


def test_top_n_holds_few_rows() -> None:
    values = pa.array([(i * 7919) % 100_003 for i in range(100_000)], pa.int64())
    node = top_n(leaf("k:bigint", chunks_of(pa.table({"k": values}), 1000)), ["k"], [Direction()], 10)
    instance = limited(node, 64_000)
    (row,) = execute(instance)
    assert row.rows == 10
    assert 0 < instance.memory.peak < 64_000
    assert instance.memory.held == 0
