"""The time zone rules of the JVM, from its file ``tzdb.dat`` (Java: TzdbZoneRulesProvider, ZoneRules, Ser).

The databases of Java and Python differ in the rules of many regions, so workers read the file of the Java that started
them. Without the variable that names it, as outside of Spark, the rules are Python's.
"""

from __future__ import annotations

import datetime
import os
import struct
import zoneinfo
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np

from pyspark_pipeline.kernels import civil

#: The environment variable with the path of the file; the shim sets it for workers.
FILE_VARIABLE = "PYSPARK_PIPELINE_TIME_ZONES"

_DAY = 86400
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class Rules(Protocol):
    """The rules of a region; ``fixed`` is its only offset in seconds, None if there are several."""

    fixed: int | None

    def offset(self, second: int) -> int:
        """Return the seconds east of UTC at an instant in seconds since 1970-01-01."""
        ...


class _Reader:
    """Reads Java's data streams, which are big-endian."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def read(self, form: str) -> int:
        """Read one integer of a format of :mod:`struct`."""
        (found,) = struct.unpack_from(f">{form}", self._data, self._at)
        self._at += struct.calcsize(form)
        return int(found)

    def bytes(self) -> bytes:
        """Read bytes after their number, a short."""
        size = self.read("H")
        self._at += size
        return self._data[self._at - size : self._at]

    def text(self) -> str:
        return self.bytes().decode("utf-8")

    def offset(self) -> int:
        quarters = self.read("b")
        return self.read("i") if quarters == 127 else quarters * 900

    def instant(self) -> int:
        high = self.read("B")
        if high == 255:
            return self.read("q")
        return ((high << 16) + self.read("H")) * 900 - 4575744000


@dataclass(frozen=True, slots=True)
class _YearlyRule:
    """A transition of every year, in the local time of UTC, of the offset before it, or of standard time."""

    month: int
    day: int
    weekday: int
    second: int
    is_utc: bool
    is_standard: bool
    standard: int
    before: int
    after: int

    @classmethod
    def read(cls, reader: _Reader) -> _YearlyRule:
        packed = reader.read("I")
        hour, standard = packed >> 14 & 31, packed >> 4 & 255
        second = reader.read("i") if hour == 31 else hour * 3600
        base = reader.read("i") if standard == 255 else (standard - 128) * 900
        before, after = (
            reader.read("i") if part == 3 else base + part * 1800 for part in (packed >> 2 & 3, packed & 3)
        )
        definition = packed >> 12 & 3
        return cls(
            packed >> 28, (packed >> 22 & 63) - 32, packed >> 19 & 7, second, definition == 0, definition == 2, base,
            before, after,
        )  # fmt: skip

    def instant(self, year: int) -> int:
        """Return the instant of the transition in a year, in seconds."""
        if self.day < 0:
            last = civil.days_in.py_func(year, self.month)
            day = int(civil.days_of.py_func(year, self.month, last + 1 + self.day))
            day -= ((day + 3) % 7 + 1 - self.weekday) % 7 if self.weekday else 0
        else:
            day = int(civil.days_of.py_func(year, self.month, self.day))
            day += (self.weekday - (day + 3) % 7 - 1) % 7 if self.weekday else 0
        local = day * _DAY + self.second
        return local - (0 if self.is_utc else self.standard if self.is_standard else self.before)


class _JavaRules:
    """Transitions of the past, and the rules of the years after them."""

    def __init__(self, data: bytes) -> None:
        reader = _Reader(data)
        reader.read("b")
        standards = reader.read("i")
        for _ in range(standards):
            reader.instant()
        for _ in range(standards + 1):
            reader.offset()
        count = reader.read("i")
        self._instants = [reader.instant() for _ in range(count)]
        self._offsets = [reader.offset() for _ in range(count + 1)]
        self._yearly = [_YearlyRule.read(reader) for _ in range(reader.read("b"))]
        self.fixed: int | None = None if self._instants or self._yearly else self._offsets[0]

    def offset(self, second: int) -> int:
        """Return the seconds east of UTC at an instant in seconds since 1970-01-01."""
        if self._yearly and second > self._instants[-1]:
            return self._by_year(second)
        return self._offsets[bisect_right(self._instants, second)]

    def _by_year(self, second: int) -> int:
        transitions = _transitions(tuple(self._yearly), _year_of(second + self._offsets[-1]))
        for instant, before, _ in transitions:
            if second < instant:
                return before
        return transitions[-1][2]


def _year_of(local: int) -> int:
    return int(civil.split_days.py_func(np.int64(local // _DAY))[0])


@lru_cache(maxsize=4096)
def _transitions(rules: Sequence[_YearlyRule], year: int) -> list[tuple[int, int, int]]:
    return [(rule.instant(year), rule.before, rule.after) for rule in rules]


# The 400-year cycle of the Gregorian calendar, in days: a later year has the rules of its equivalent in the cycle.
_CYCLE = 146097
_FIRST, _LAST = -719162, 2932896


class _PythonRules:
    """The rules of Python's database."""

    def __init__(self, name: str) -> None:
        self._zone = zoneinfo.ZoneInfo(name)
        self.fixed: int | None = None

    def offset(self, second: int) -> int:
        """Return the seconds east of UTC; a year outside 1..9999 has the offset of an equivalent year inside."""
        day = second // _DAY
        if day < _FIRST + 2:
            second = (_FIRST + 2) * _DAY
        elif day > _LAST - 2:
            second -= -(-(day - _LAST + 2) // _CYCLE) * _CYCLE * _DAY
        found = (_EPOCH + datetime.timedelta(seconds=second)).astimezone(self._zone).utcoffset()
        assert found is not None
        return found.days * _DAY + found.seconds


@lru_cache(maxsize=1)
def _java_regions(path: str) -> dict[str, bytes]:
    """Return the rules of all regions, undecoded, by name."""
    reader = _Reader(Path(path).read_bytes())
    reader.read("b")
    reader.text()
    versions = [reader.text() for _ in range(reader.read("H"))]
    regions = [reader.text() for _ in range(reader.read("H"))]
    rules = [reader.bytes() for _ in range(reader.read("H"))]
    found: dict[str, bytes] = {}
    for _ in versions:
        pairs = [(reader.read("H"), reader.read("H")) for _ in range(reader.read("H"))]
        found = {regions[region]: rules[rule] for region, rule in pairs}
    return found


@lru_cache(maxsize=1024)
def rules_of(name: str) -> Rules | None:
    """Return the rules of a region; None if there is none of this name."""
    path = os.environ.get(FILE_VARIABLE)
    if path:
        data = _java_regions(path).get(name)
        return None if data is None else _JavaRules(data)
    try:
        return _PythonRules(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return None
