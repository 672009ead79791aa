"""Offsets of a session time zone from UTC, vectorised over instants or local dates.

UTC and fixed offsets are computed by arithmetic. A region's rules (:mod:`~.java_zones`) are looked up by day, once for
each day of 1860 to 2133: instants of a UTC day without a transition have the same offset.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.java_zones import Rules, rules_of
from pyspark_pipeline.kernels import civil
from pyspark_pipeline.kernels.arrays import Array, Int32Array, Int64Array
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.day_offsets import MIXED, UNKNOWN, offsets_of
from pyspark_pipeline.kernels.jit import frozen

_DAY = 86400
#: The days of the tables, 1860 to 2133.
_FIRST_DAY, _TABLE_DAYS = -40_177, 100_000
#: The last whole second of the timestamps.
MAX_SECOND = 9_223_372_036_854
#: Java's ZoneId.SHORT_IDS.
_SHORT_IDS = {
    "ACT": "Australia/Darwin", "AET": "Australia/Sydney", "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo", "AST": "America/Anchorage", "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare", "CNT": "America/St_Johns", "CST": "America/Chicago", "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris", "EST": "-05:00", "HST": "-10:00",
    "IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "MIT": "Pacific/Apia",
    "MST": "-07:00", "NET": "Asia/Yerevan", "NST": "Pacific/Auckland", "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix", "PRT": "America/Puerto_Rico", "PST": "America/Los_Angeles", "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}  # fmt: skip
_OFFSET = re.compile(r"([+-])([0-9]{1,2}|[0-9]{4}|[0-9]{6}|[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)")
_PREFIXED = re.compile(r"(?:UTC|GMT|UT)(?=[+-])")
_REGION = re.compile(r"[A-Za-z][A-Za-z0-9~/._+-]+")
_LARGEST_OFFSET = 18 * 3600
_NO_ROWS: Int64Array = np.empty(0, dtype=np.int64)


def _resolved_name(text: str) -> int | Rules | None:
    """Return what Spark's getZoneId reads in ``text``: seconds east of UTC, or a region's rules; None if nothing."""
    name = re.sub(r"([+-])([0-9]):", r"\g<1>0\2:", text, count=1)
    name = re.sub(r"([+-])([0-9]{2}):([0-9])$", r"\1\2:0\3", name, count=1)
    name = _SHORT_IDS.get(name, name)
    if name in ("Z", "UTC", "GMT", "UT"):
        return 0
    prefix = _PREFIXED.match(name)
    if prefix or name[:1] in ("+", "-"):
        return _offset_of(name[prefix.end() :] if prefix else name)
    return rules_of(name) if _REGION.fullmatch(name) else None


def _offset_of(text: str) -> int | None:
    """Return the seconds of an offset in the forms of Java's ZoneOffset.of; None if it is none or too large."""
    match = _OFFSET.fullmatch(text)
    if match is None:
        return None
    digits = match[2].replace(":", "").zfill(2).ljust(6, "0")
    hours, minutes, seconds = int(digits[:2]), int(digits[2:4]), int(digits[4:])
    total = hours * 3600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or total > _LARGEST_OFFSET:
        return None
    return -total if match[1] == "-" else total


def _micros(seconds: Int64Array) -> Int64Array:
    """Return the microseconds of instants in seconds; raise Spark's error outside the range of timestamps."""
    if (np.abs(seconds) > MAX_SECOND).any():
        raise conditions.timestamp_overflow()
    return seconds * 1_000_000


def added(micros: Any, more: Any) -> Any:
    """Add microseconds, int64; raise Spark's error instead of a wrap-around."""
    total = micros + more
    if ((total < micros) != (more < 0)).any():
        raise conditions.timestamp_overflow()
    return total


def _moved(micros: Any, seconds: Any) -> Any:
    """Add seconds, an int or int64, shape (rows,), to microseconds; raise Spark's error instead of a wrap-around."""
    return added(micros, seconds * 1_000_000)


def _advanced(micros: Any, seconds: Any, rest: Any) -> Any:
    """Add seconds and microseconds, int64, to microseconds; raise Spark's error outside the range of timestamps."""
    if (np.abs(seconds) > 2 * MAX_SECOND).any():
        raise conditions.timestamp_overflow()
    half = seconds // 2
    return added(_moved(_moved(micros, half), seconds - half), rest)


class _DayTable:
    """The offsets of the days of a zone. ``offset(day)`` is that of a whole day, MIXED if it has several."""

    __slots__ = ("_offset", "_offsets")

    def __init__(self, offset: Callable[[int], int]) -> None:
        self._offset = offset
        self._offsets: Int32Array | None = None

    def of(self, seconds: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return the offsets of seconds since 1970-01-01, and the rows whose day has several or is in no table."""
        if self._offsets is None:
            self._offsets = np.full(_TABLE_DAYS, UNKNOWN, dtype=np.int32)
        seconds, table = frozen(seconds.view()), frozen(self._offsets.view())
        out = allocate(seconds.size, np.int64)
        is_unknown, is_mixed = offsets_of(seconds, table, _FIRST_DAY, out)
        if is_unknown:
            for day in np.unique(seconds[out == UNKNOWN] // _DAY).tolist():
                self._offsets[day - _FIRST_DAY] = self._offset(day)
            _, is_mixed = offsets_of(seconds, table, _FIRST_DAY, out)
        return out, np.flatnonzero(out == MIXED) if is_mixed else _NO_ROWS


class TimeZone:
    """One time zone with a cache of offsets by day; raises ValueError for a name that Spark does not know."""

    def __init__(self, name: str) -> None:
        found = _resolved_name(name)
        if found is None:
            raise ValueError(f"there is no time zone {name!r}")
        self.fixed: int | None = found if isinstance(found, int) else found.fixed
        self._rules: Rules | None = None if isinstance(found, int) else found
        self._at_day: dict[int, int] = {}
        self._instant_days, self._local_days = _DayTable(self._of_instants), _DayTable(self._of_local_day)

    def local_days(self, micros: Int64Array) -> Int64Array:
        """Return the local dates (days since 1970-01-01) of instants in microseconds."""
        seconds = micros // 1_000_000
        days: Int64Array = (seconds + self.offsets(seconds)) // _DAY
        return days

    def start_of_days(self, days: Array) -> Int64Array:
        """Return the instants (microseconds) at which local dates start, as LocalDate.atStartOfDay.

        Raise Spark's error if one is outside the range of timestamps.
        """
        return _micros(self._start_seconds(days.astype(np.int64)))

    def _start_seconds(self, days: Int64Array) -> Int64Array:
        if self.fixed is not None:
            return days * _DAY - self.fixed
        seconds = days * _DAY
        offsets, rest = self._local_days.of(seconds)
        starts = seconds - offsets
        if rest.size:
            unique, inverse = np.unique(days[rest], return_inverse=True)
            starts[rest] = np.array([self._start(day) for day in unique.tolist()], dtype=np.int64)[inverse]
        return starts

    def offsets(self, seconds: Int64Array) -> Any:
        """Return the offsets (seconds) at instants (seconds): an int for a fixed zone, else int64, shape (rows,)."""
        return self._offsets(seconds) if self.fixed is None else self.fixed

    def local_times(self, micros: Any) -> tuple[Any, Any]:
        """Return the local dates and the microseconds since midnight of instants in microseconds."""
        seconds = micros // 1_000_000
        local = seconds + self.offsets(seconds)
        return local // _DAY, local % _DAY * 1_000_000 + micros % 1_000_000

    def local_micros(self, micros: Any) -> Any:
        """Return the local date-times of instants, both in microseconds, as LocalDateTime.ofInstant.

        Raise Spark's error if one is outside the range of timestamps.
        """
        return _moved(micros, self.offsets(micros // 1_000_000))

    def instants(self, local: Any) -> Any:
        """Return the instants of local date-times, both in microseconds, as LocalDateTime.atZone.

        Of two the earlier; a date-time in a gap is moved by the length of the gap. Raise Spark's error if an instant is
        outside the range of timestamps.
        """
        return _moved(local, -self._local_offsets(local // 1_000_000))

    def instant_seconds(self, local: Any) -> Any:
        """Return the instants of local date-times, both in seconds, as :meth:`instants` but of any range."""
        return local - self._local_offsets(local)

    def truncated(self, micros: Any, unit: int) -> Any:
        """Truncate the local times of instants to a unit of ``unit`` seconds.

        The offset remains if it is valid then, as ZonedDateTime.truncatedTo. Raise Spark's error as :meth:`instants`.
        """
        seconds = micros // 1_000_000
        before = self.offsets(seconds)
        local = seconds + before
        return _micros(self._resolved(local - local % unit, before))

    def plus(self, micros: Any, days: Any, rest: Any) -> Any:
        """Add whole days to the local dates of instants, then microseconds to the instants.

        As ZonedDateTime.plusDays: the offset remains if it is valid then. Raise Spark's error as :meth:`instants`.
        """
        seconds = micros // 1_000_000
        before = self.offsets(seconds)
        return _advanced(micros, self._resolved(seconds + before + days * _DAY, before) - seconds, rest)

    def plus_months(self, micros: Any, months: Any) -> Any:
        """Add months to the local dates of instants, to the last day of a shorter month at most, as :meth:`plus`."""
        seconds = micros // 1_000_000
        before = self.offsets(seconds)
        local = seconds + before
        days = np.empty(len(local), dtype=np.int64)
        civil.plus_months(local // _DAY, months.astype(np.int64), days)
        return _advanced(micros, self._resolved(days * _DAY + local % _DAY, before) - seconds, np.int64(0))

    def _resolved(self, local: Any, before: Any) -> Any:
        """Return the instants of local date-times, both in seconds; the offsets ``before`` remain if they are valid."""
        instants = local - before
        changed = instants + self.offsets(instants) != local
        if changed.any():
            instants[changed] = local[changed] - self._local_offsets(local[changed])
        return instants

    def _local_offsets(self, seconds: Any) -> Any:
        """Return the offsets (seconds) of local date-times (seconds), as :meth:`offsets`."""
        if self.fixed is not None:
            return self.fixed
        offsets, rest = self._local_days.of(seconds)
        if rest.size:
            offsets[rest] = self._offsets_at_local(seconds[rest])
        return offsets

    def _offsets_at_local(self, seconds: Int64Array) -> Int64Array:
        """Return the offsets of local date-times (seconds), of two the earlier one, in a gap that before it."""
        before, after = self._offsets(seconds - _DAY), self._offsets(seconds + _DAY)
        is_after = (self._offsets(seconds - before) != before) & (self._offsets(seconds - after) == after)
        return np.where(is_after, after, before)

    def _of_local_day(self, day: int) -> int:
        around = {self._offset_at_day(day + near) for near in (-1, 0, 1, 2)}
        return around.pop() if len(around) == 1 else MIXED

    def _offsets(self, seconds: Int64Array) -> Int64Array:
        offsets, rest = self._instant_days.of(seconds)
        if rest.size:
            unique, inverse = np.unique(seconds[rest] // _DAY, return_inverse=True)
            offsets[rest] = np.array([self._of_instants(day) for day in unique.tolist()])[inverse]
            for row in rest[offsets[rest] == MIXED]:
                offsets[row] = self._offset(int(seconds[row]))
        return offsets

    def _of_instants(self, day: int) -> int:
        first = self._offset_at_day(day)
        return first if self._offset_at_day(day + 1) == first else MIXED

    def _offset_at_day(self, day: int) -> int:
        found = self._at_day.get(day)
        if found is None:
            found = self._at_day[day] = self._offset(day * _DAY)
        return found

    def _offset(self, second: int) -> int:
        """Return the offset at an instant (seconds)."""
        assert self._rules is not None
        return self._rules.offset(second)

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


@lru_cache(maxsize=64)
def zone_of(text: str) -> TimeZone | None:
    """Return the time zone that Spark's getZoneId reads in ``text``; None if there is none."""
    try:
        return TimeZone(text)
    except ValueError:
        return None
