"""Timestamps as text: casts, ``date_format``, ``from_unixtime`` (Spark: TimestampFormatter, Java's DateTimeFormatter).

Patterns consist of fields and literals. Values of the years 0 to 9999 are the rows of a matrix of bytes, in which
fields of fewer characters have zero bytes that are then removed; other years, which have more digits or a sign, are
formatted one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.by_constants import by_constants
from pyspark_pipeline.expressions.cast_string import PROLEPTIC_TEXT
from pyspark_pipeline.expressions.dates import (
    DAY_NAMES,
    FULL_DAY_NAMES,
    FULL_MONTH_NAMES,
    MONTH_NAMES,
    civil_from_days,
    truncated_days,
)
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.time_zones import TimeZone
from pyspark_pipeline.expressions.timestamps import SECOND, local_zone
from pyspark_pipeline.expressions.values import flags, numbers_or_zero, to_array
from pyspark_pipeline.kernels.arrays import UInt8Array
from pyspark_pipeline.kernels.decimal_words import bitmap_of
from pyspark_pipeline.plan.expr import Call, constants

_ZERO = ord("0")
_FIRST, _LAST = -719528, 2932897


@dataclass(slots=True)
class LocalTimes:
    """The fields of local times, each int64, shape (rows,)."""

    days: Any
    micros: Any
    east: Any
    year: Any
    month: Any
    day: Any

    @classmethod
    def of(cls, days: Any, micros: Any, east: Any = 0) -> LocalTimes:
        """Split days since 1970-01-01; ``micros``: microseconds since midnight, ``east``: seconds east of UTC."""
        return cls(days, micros, np.broadcast_to(np.asarray(east, dtype=np.int64), len(days)), *civil_from_days(days))

    def rows(self, chosen: Any) -> LocalTimes:
        """Return some of the local times."""
        return LocalTimes.of(self.days[chosen], self.micros[chosen], self.east[chosen])

    @property
    def hour(self) -> Any:
        return self.micros // (3600 * SECOND)

    @property
    def day_of_year(self) -> Any:
        return self.days - truncated_days(self.days, "YEAR") + 1


def _digits(number: Any, width: int, least: int | None = None) -> Any:
    """Return the last digits of numbers, uint8, shape (rows, width), 0 for leading zeros before the last ``least``."""
    digits = np.empty((len(number), width), dtype=np.uint8)
    for position in range(width - 1, -1, -1):
        digits[:, position] = number % 10 + _ZERO
        if least is not None and position < width - least:
            digits[:, position] *= number > 0
        number = number // 10
    return digits


def _names(names: Sequence[str]) -> UInt8Array:
    """Return the letters of names: uint8, shape (names, longest), with zeros after shorter names."""
    width = max(map(len, names))
    letters = "".join(name.ljust(width, "\0") for name in names).encode("ascii")
    return np.frombuffer(letters, dtype=np.uint8).reshape(-1, width)


def _offset(times: LocalTimes, pattern: str, zero: str) -> Any:
    """Return the offsets from UTC: ``pattern`` is Java's +HHmm, +HHMM, +HH:MM or +HH:MM:ss, ``zero`` is no offset."""
    seconds = np.abs(times.east)
    minutes = seconds // 60
    colon = np.full((len(minutes), 1), ord(":"), dtype=np.uint8)
    parts = [np.where(times.east < 0, ord("-"), ord("+")).astype(np.uint8)[:, np.newaxis], _digits(minutes // 60, 2)]
    if ":" in pattern:
        parts.append(colon)
    parts.append(_digits(minutes % 60, 2))
    if pattern == "+HHmm":
        parts[-1] *= (minutes % 60 > 0)[:, np.newaxis]
    is_zero = minutes == 0
    if pattern == "+HH:MM:ss":
        parts.append(np.concatenate([colon, _digits(seconds % 60, 2)], axis=1) * (seconds % 60 > 0)[:, np.newaxis])
        is_zero = seconds == 0
    text = np.concatenate(parts, axis=1)
    text[is_zero] = np.frombuffer(zero.ljust(text.shape[1], "\0").encode("ascii"), dtype=np.uint8)
    return text


_AM_PM, _MONTH, _FULL_MONTH, _DAY, _FULL_DAY, _QUARTER = map(_names, (
    ("AM", "PM"), MONTH_NAMES, FULL_MONTH_NAMES, DAY_NAMES, FULL_DAY_NAMES, ("Q1", "Q2", "Q3", "Q4"),
))  # fmt: skip

#: The numbers of fields with as many digits as letters, or as needed if it is one letter.
_NUMBERS: dict[str, Callable[[LocalTimes], Any]] = {
    "M": lambda times: times.month,
    "L": lambda times: times.month,
    "d": lambda times: times.day,
    "H": lambda times: times.hour,
    "k": lambda times: (times.hour + 23) % 24 + 1,
    "K": lambda times: times.hour % 12,
    "h": lambda times: (times.hour + 11) % 12 + 1,
    "m": lambda times: times.micros // (60 * SECOND) % 60,
    "s": lambda times: times.micros // SECOND % 60,
}
#: The characters of each field: uint8, shape (rows, longest), with zeros that are left out.
_FIELDS: dict[str, Callable[[LocalTimes], Any]] = {
    "y": lambda times: _digits(times.year, 4, 1),
    "yy": lambda times: _digits(times.year, 2),
    "yyyy": lambda times: _digits(times.year, 4),
    **{letter: lambda times, number=number: _digits(number(times), 2, 1) for letter, number in _NUMBERS.items()},  # type: ignore[misc]
    **{2 * letter: lambda times, number=number: _digits(number(times), 2) for letter, number in _NUMBERS.items()},  # type: ignore[misc]
    **{"S" * n: lambda times, n=n: _digits(times.micros % SECOND * 1000 // 10 ** (9 - n), n) for n in range(1, 10)},  # type: ignore[misc]
    **dict.fromkeys(("MMM", "LLL"), lambda times: _MONTH[times.month - 1]),
    **dict.fromkeys(("MMMM", "LLLL"), lambda times: _FULL_MONTH[times.month - 1]),
    **dict.fromkeys(("E", "EE", "EEE"), lambda times: _DAY[(times.days + 3) % 7]),
    "EEEE": lambda times: _FULL_DAY[(times.days + 3) % 7],
    "a": lambda times: _AM_PM[times.hour // 12],
    "D": lambda times: _digits(times.day_of_year, 3, 1),
    "DDD": lambda times: _digits(times.day_of_year, 3),
    "Q": lambda times: _digits((times.month + 2) // 3, 1),
    "QQ": lambda times: _digits((times.month + 2) // 3, 2),
    "QQQ": lambda times: _QUARTER[(times.month - 1) // 3],
    **{letters: lambda times, p=p, zero=zero: _offset(times, p, zero) for letters, p, zero in (  # type: ignore[misc]
        ("X", "+HHmm", "Z"), ("XX", "+HHMM", "Z"), ("XXX", "+HH:MM", "Z"), ("x", "+HHmm", "+00"),
        ("xx", "+HHMM", "+0000"), ("xxx", "+HH:MM", "+00:00"), ("Z", "+HHMM", "+0000"), ("ZZ", "+HHMM", "+0000"),
        ("ZZZ", "+HHMM", "+0000"), ("XXXXX", "+HH:MM:ss", "Z"),
    )},
}  # fmt: skip
_LITERAL = r"[ !\"$%&(-@\\^_`|~]|'[ -&(-~]+'(?!')"


def _patterns_of(fields: Iterable[str]) -> str:
    return "(?:" + "|".join([*(f"(?<!{field[0]}){field}(?!{field[0]})" for field in sorted(fields)), _LITERAL]) + ")+"


#: Patterns of these fields and of literals in ASCII; a field does not follow itself. Dates have no time of day.
PATTERN = _patterns_of(_FIELDS)
DATE_PATTERN = _patterns_of(field for field in _FIELDS if field[0] in "yMLdEDQ")


class Formatter:
    """Formats local times by one pattern."""

    def __init__(self, pattern: str) -> None:
        self._tokens = [match[0] for match in re.finditer(rf"([a-zA-Z])\1*|{_LITERAL}", pattern)]
        #: Whether a text contains the offset from UTC.
        self.has_offset = any(token[0] in "XxZ" for token in self._tokens)

    def format(self, days: Any, micros: Any, valid: pa.BooleanArray | None, east: Any = 0) -> pa.Array:
        """Return the text of local dates and microseconds since midnight: NULL in the rows that are not ``valid``.

        ``east``: seconds east of UTC, an int or int64, shape (rows,).
        """
        usual = (days >= _FIRST) & (days < _LAST)
        times = LocalTimes.of(days, micros, east)
        text = self._usual(times if usual.all() else LocalTimes.of(np.where(usual, days, 0), micros, east), valid)
        if usual.all():
            return text
        if valid is not None:
            usual |= ~flags(valid)
        unusual = np.flatnonzero(~usual)
        written = [self._one(times.rows(slice(row, row + 1))) for row in unusual]
        return pc.replace_with_mask(text, pa.array(~usual), pa.array(written, pa.string()))

    def _usual(self, times: LocalTimes, valid: pa.BooleanArray | None) -> pa.Array:
        parts = [_characters(token, times) for token in self._tokens]
        rows, width = len(times.days), sum(part.shape[1] for part in parts)
        matrix = np.empty((rows, width), dtype=np.uint8)
        column = 0
        for part in parts:
            matrix[:, column : column + part.shape[1]] = part
            column += part.shape[1]
        present = matrix != 0
        if present.all():
            offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(width)
        else:
            offsets = np.zeros(rows + 1, dtype=np.int32)
            np.cumsum(present.sum(axis=1), out=offsets[1:])
            matrix = matrix[present]
        bitmap = None if valid is None else bitmap_of(valid)
        return pa.Array.from_buffers(pa.string(), rows, [bitmap, pa.py_buffer(offsets), pa.py_buffer(matrix)])

    def _one(self, times: LocalTimes) -> str:
        return "".join(
            _year_text(int(times.year[0]), len(token))
            if token[0] == "y"
            else bytes(_characters(token, times)[0]).decode("ascii").replace("\0", "")
            for token in self._tokens
        )


def _year_text(year: int, letters: int) -> str:
    if letters == 2:
        return f"{abs(year) % 100:02d}"
    return str(year) if letters == 1 else f"{'+' if year > 9999 else '-' if year < 0 else ''}{abs(year):04d}"


def _characters(token: str, times: LocalTimes) -> Any:
    """Return the characters of a token: uint8, shape (rows, width), or (1, width) for a literal."""
    if token not in _FIELDS:
        literal = token[1:-1] if len(token) > 1 else token
        return np.frombuffer(literal.encode("ascii"), dtype=np.uint8).reshape(1, -1)
    return _FIELDS[token](times)


def _formatted(call: Call, zone: TimeZone, pattern: str, unit: int = 1) -> Kernel:
    formatter = Formatter(pattern)

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        instants = numbers_or_zero(array) * unit
        east = zone.offsets(instants // SECOND) if formatter.has_offset else 0
        days, micros = zone.local_times(instants)
        return formatter.format(days, micros, array.is_valid() if array.null_count else None, east)

    return Kernel(run=run)


@function("DateFormatClass", [
    case(["timestamp"], ["string"], matches={"1": PATTERN}, settings=PROLEPTIC_TEXT),
])  # fmt: skip
def _date_format(call: Call, settings: ExpressionSettings) -> Kernel:
    return _formatted(call, TimeZone(call.fields["timeZoneId"]), str(constants(call.args[1:])[0]))


@function("FromUnixTime", [
    case(["bigint"], ["string"], matches={"1": PATTERN}, settings=PROLEPTIC_TEXT),
])  # fmt: skip
def _from_unixtime(call: Call, settings: ExpressionSettings) -> Kernel:
    """Format seconds since 1970-01-01 00:00 UTC."""
    return _formatted(call, TimeZone(call.fields["timeZoneId"]), str(constants(call.args[1:])[0]), SECOND)


_CHOSEN = {"choices": {"1": PATTERN}, "settings": PROLEPTIC_TEXT}
by_constants("DateFormatClass", [case(["timestamp"], ["string"], **_CHOSEN)], [1])
by_constants("FromUnixTime", [case(["bigint"], ["string"], **_CHOSEN)], [1])


@function("Cast", [
    case(["timestamp"], result=["string"], settings=PROLEPTIC_TEXT),
    case(["timestamp_ntz"], result=["string"], settings=PROLEPTIC_TEXT),
])  # fmt: skip
def _to_string(call: Call, settings: ExpressionSettings) -> Kernel:
    """Format as yyyy-MM-dd HH:mm:ss, with a fraction of up to six digits without trailing zeros."""
    zone, plain, precise = local_zone(call), Formatter("yyyy-MM-dd HH:mm:ss"), Formatter("yyyy-MM-dd HH:mm:ss.SSSSSS")

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        days, micros = zone.local_times(numbers_or_zero(array))
        valid = array.is_valid() if array.null_count else None
        if not (micros % SECOND).any():
            return plain.format(days, micros, valid)
        text = pc.ascii_rtrim(precise.format(days, micros, valid), characters="0")
        return pc.ascii_rtrim(text, characters=".") if (micros % SECOND == 0).any() else text

    return Kernel(run=run)
