"""Tests of the time covered by stages."""

from __future__ import annotations

import pytest

from benchmarks.breakdown import covered


@pytest.mark.parametrize(
    ("intervals", "seconds"),
    [
        ([], 0.0),
        ([(1.0, 3.0)], 2.0),
        ([(5.0, 6.0), (1.0, 3.0)], 3.0),
        ([(1.0, 4.0), (2.0, 3.0)], 3.0),
        ([(1.0, 3.0), (2.0, 5.0), (5.0, 6.0)], 5.0),
    ],
)
def test_overlapping_stages_count_once(intervals: list[tuple[float, float]], seconds: float) -> None:
    assert covered(intervals) == seconds
