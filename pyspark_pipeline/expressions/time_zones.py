"""Offsets of a session time zone from UTC, for many instants or local dates at once.

UTC and fixed offsets are arithmetic. A region's rules come from the ``zoneinfo`` database, one day at a
time and remembered: instants of a UTC day without a transition share the day's offset.
"""

from __future__ import annotations

import datetime
import re
import zoneinfo
from typing import Any

import numpy as np

_FIXED = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")
_DAY = 86400
# The 400-year cycle of the Gregorian calendar, in days: a later year has the rules of its image in the cycle.
_CYCLE = 146097
_FIRST, _LAST = -719162, 2932896
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def fixed_offset(name: str) -> int | None:
    """Return the seconds east of UTC of a fixed zone (``UTC``, ``Z``, ``+05:30``, ``GMT-3``); None for a region."""
    if name in ("UTC", "Z", "GMT", "UT", "Etc/UTC", "Etc/GMT", "Zulu", "Etc/UCT", "UCT"):
        return 0
    match = _FIXED.fullmatch(name)
    if match is None:
        return None
    seconds = int(match[2]) * 3600 + int(match[3] or 0) * 60 + int(match[4] or 0)
    return -seconds if match[1] == "-" else seconds


class TimeZone:
    """One zone; remembers the offsets of the days it was asked for."""

    def __init__(self, name: str) -> None:
        self.fixed = fixed_offset(name)
        self._zone = None if self.fixed is not None else zoneinfo.ZoneInfo(name)
        self._at_day: dict[int, int] = {}

    def local_days(self, micros: Any) -> Any:
        """Return the local dates (days since 1970-01-01, int64) of instants in microseconds."""
        seconds = micros // 1_000_000
        if self.fixed is not None:
            return (seconds + self.fixed) // _DAY
        return (seconds + self._offsets(seconds)) // _DAY

    def start_of_days(self, days: Any) -> Any:
        """Return the instants (microseconds) at which local dates begin, as LocalDate.atStartOfDay."""
        days = days.astype(np.int64)
        if self.fixed is not None:
            return (days * _DAY - self.fixed) * 1_000_000
        unique, inverse = np.unique(days, return_inverse=True)
        starts = np.array([self._start(int(day)) for day in unique], dtype=np.int64)
        return starts[inverse] * 1_000_000

    def _offsets(self, seconds: Any) -> Any:
        unique, inverse = np.unique(seconds // _DAY, return_inverse=True)
        first = np.array([self._offset_at_day(int(day)) for day in unique], dtype=np.int64)
        last = np.array([self._offset_at_day(int(day) + 1) for day in unique], dtype=np.int64)
        offsets = first[inverse]
        for row in np.flatnonzero((first != last)[inverse]):
            offsets[row] = self._offset(int(seconds[row]))
        return offsets

    def _offset_at_day(self, day: int) -> int:
        found = self._at_day.get(day)
        if found is None:
            found = self._at_day[day] = self._offset(day * _DAY)
        return found

    def _offset(self, second: int) -> int:
        """Return the offset at an instant; years outside 1..9999 by their image inside."""
        day = second // _DAY
        if day < _FIRST + 2:
            second = (_FIRST + 2) * _DAY
        elif day > _LAST - 2:
            second -= -(-(day - _LAST + 2) // _CYCLE) * _CYCLE * _DAY
        local = (_EPOCH + datetime.timedelta(seconds=second)).astimezone(self._zone)
        offset = local.utcoffset()
        assert offset is not None
        return offset.days * _DAY + offset.seconds

    def _start(self, day: int) -> int:
        """Return the first instant (seconds) of a local date: after a gap at midnight, the end of the gap."""
        midnight = day * _DAY
        # An overlap has two offsets for midnight: the earlier offset (larger) comes first.
        before = self._offset(midnight - _DAY)
        after = self._offset(midnight + _DAY)
        for offset in (before, after):
            if self._offset(midnight - offset) == offset:
                return midnight - offset
        low, high = midnight - max(before, after) - 1, midnight - min(before, after) + 1
        while high - low > 1:
            middle = (low + high) // 2
            if self._offset(middle) == before:
                low = middle
            else:
                high = middle
        return high
