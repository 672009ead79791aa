"""Offsets of many instants and local times are those of each, in zones with and without transitions, in any year."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_pipeline.expressions.time_zones import MAX_SECOND, TimeZone

_ZONES = ["UTC", "+05:30", "Etc/UTC", "America/New_York", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia",
          "Africa/Casablanca", "Australia/Lord_Howe"]  # fmt: skip
_DAY = 86400
_SECONDS = st.one_of(
    st.integers(-MAX_SECOND // 2, MAX_SECOND // 2), st.integers(-4 * 10**9, 6 * 10**9),
    st.integers(1_300_000_000, 1_400_000_000),
)  # fmt: skip


def _local_offset(zone: TimeZone, second: int) -> int:
    before, after = zone._offset(second - _DAY), zone._offset(second + _DAY)
    is_after = zone._offset(second - before) != before and zone._offset(second - after) == after
    return after if is_after else before


@pytest.mark.parametrize("name", _ZONES)
@given(found=st.lists(_SECONDS, max_size=20))
def test_offsets_are_those_of_each_second(name: str, found: list[int]) -> None:
    zone, seconds = TimeZone(name), np.array(found, dtype=np.int64)
    offsets = np.broadcast_to(zone.offsets(seconds), seconds.shape)
    instants = zone.instant_seconds(seconds)
    starts = zone._start_seconds(seconds // _DAY)
    for row, second in enumerate(found):
        day = second // _DAY
        if zone.fixed is None:
            assert offsets[row] == zone._offset(second)
            assert instants[row] == second - _local_offset(zone, second)
            assert starts[row] == zone._start(day)
        else:
            assert (offsets[row], instants[row]) == (zone.fixed, second - zone.fixed)
            assert starts[row] == day * _DAY - zone.fixed


def test_known_days_are_looked_up_again() -> None:
    zone = TimeZone("America/New_York")
    seconds = np.arange(1_268_000_000, 1_269_000_000, 3600, dtype=np.int64)  # with the transition of 2010-03-14
    first = zone.offsets(seconds).copy()
    assert set(first.tolist()) == {-18000, -14400}
    assert np.array_equal(first, zone.offsets(seconds))
    assert seconds.flags.writeable
    assert zone.offsets(np.empty(0, dtype=np.int64)).size == 0
