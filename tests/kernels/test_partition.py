"""T1: grouping by prefix sums is a stable sort by partition."""

from __future__ import annotations

import numpy as np
import pytest

from pyspark_pipeline.kernels.partition import group_rows


@pytest.mark.parametrize(("rows", "count"), [(0, 1), (0, 5), (1, 1), (10, 1), (1000, 7), (1000, 5000), (70_000, 200)])
def test_group_rows_equals_a_stable_sort(rows: int, count: int) -> None:
    ids = np.random.default_rng(rows + count).integers(0, count, rows).astype(np.int32)
    starts, grouped = group_rows(ids, count)
    assert list(grouped) == list(np.argsort(ids, kind="stable"))
    assert list(np.diff(starts)) == list(np.bincount(ids, minlength=count))
    assert starts[0] == 0 and starts[-1] == rows


def test_empty_partitions_are_empty() -> None:
    starts, grouped = group_rows(np.array([3, 1, 3], dtype=np.int32), 5)
    assert list(starts) == [0, 0, 1, 1, 3, 3]
    assert list(grouped) == [1, 0, 2]
