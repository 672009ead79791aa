"""Quantile summaries against a transcription of the algorithm value by value, for groups of any size."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.operators.aggregation.functions.quantile_states import (
    InsertedSummaryState,
    MergedSummaryState,
    Summaries,
)
from pyspark_pipeline.operators.aggregation.functions.value_codes import value_coder


def _inserted(values: np.ndarray, groups: np.ndarray, error: float, chunk: int) -> InsertedSummaryState:
    state = InsertedSummaryState(value_coder(parse_type("double")), error)
    for at in range(0, values.size, chunk):
        state.update(groups[at : at + chunk], [pa.array(values[at : at + chunk])])
    return state


def _assert_equal(one: Summaries, other: Summaries) -> None:
    assert one.counts.tolist() == other.counts.tolist()
    assert one.bounds.tolist() == other.bounds.tolist()
    for left, right in zip(one.samples, other.samples, strict=True):
        assert np.array_equal(left, right, equal_nan=True)


@pytest.mark.parametrize("error", [0.3, 0.01, 0.0001])
def test_chunks_do_not_change_summaries(error: float) -> None:
    random = np.random.default_rng(1)
    values, groups = random.normal(size=230_000), random.integers(0, 2, 230_000)
    whole = _inserted(values, groups, error, 230_000).summaries(0, 3)
    _assert_equal(whole, _inserted(values, groups, error, 7_001).summaries(0, 3))
    assert whole.counts.tolist() == [int((groups == 0).sum()), int((groups == 1).sum()), 0]


@pytest.mark.parametrize("rows", [3, 40, 4_000, 60_000])
def test_ranks_are_within_the_error(rows: int) -> None:
    values = np.random.default_rng(2).permutation(rows).astype(np.float64)
    made = _inserted(values, np.zeros(rows, dtype=np.int64), 0.01, rows).summaries(0, 1)
    found, gs, _ = made.of(0)
    least = np.cumsum(gs)
    assert least[-1] == rows
    assert np.all(np.abs(found + 1 - least) <= 2 * 0.01 * rows + 1)


def test_serialized_summaries_are_read_back() -> None:
    random = np.random.default_rng(3)
    values, groups = random.normal(size=9_000), random.integers(0, 40, 9_000)
    groups[groups == 7] = 39
    made = _inserted(values, groups, 0.01, 1_000).summaries(0, 40)
    merged = MergedSummaryState(0.01)
    column = made.column(0.01)
    merged.update(np.arange(25), [column[:25]])
    merged.update(np.arange(25, 40), [column[25:]])
    _assert_equal(made, merged.summaries(0, 40))


def test_merged_summaries_count_all_values() -> None:
    values = np.arange(3_000, dtype=np.float64)
    parts = [_inserted(part, np.zeros(part.size, dtype=np.int64), 0.05, 500) for part in np.split(values, 3)]
    merged = MergedSummaryState(0.05)
    for part in parts:
        merged.update(np.zeros(1, dtype=np.int64), [part.summaries(0, 1).column(0.05)])
    made = merged.summaries(0, 1)
    assert made.counts.tolist() == [3_000]
    assert int(made.of(0)[1].sum()) == 3_000
    assert made.of(0)[0][0] == 0 and made.of(0)[0][-1] == 2_999


def test_kept_groups_are_renumbered() -> None:
    values, groups = np.arange(120_000, dtype=np.float64), np.arange(120_000) % 2
    state = _inserted(values, groups, 0.01, 50_000)
    whole = state.summaries(0, 2)
    state.take(np.array([1]))
    kept = state.summaries(0, 1)
    assert all(np.array_equal(a, b) for a, b in zip(whole.of(1), kept.of(0), strict=True))


def test_a_group_of_nan_loses_its_smallest_sample_as_in_spark() -> None:
    made = _inserted(np.full(3, np.nan), np.zeros(3, dtype=np.int64), 0.0001, 3).summaries(0, 1)
    assert made.counts.tolist() == [3] and made.of(0)[0].size == 2
