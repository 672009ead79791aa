"""Timestamps as text: casts, ``date_format``, ``from_unixtime`` (Spark: TimestampFormatter, Java's DateTimeFormatter).

Patterns consist of fields of fixed width and literals. Values of the years 0 to 9999 are the rows of a matrix of
bytes; other years, which have more digits or a sign, are formatted one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.cast_string import PROLEPTIC_TEXT
from pyspark_pipeline.expressions.dates import DAY_NAMES, MONTH_NAMES, civil_from_days
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.time_zones import TimeZone
from pyspark_pipeline.expressions.timestamps import SECOND, ZONED, local_zone
from pyspark_pipeline.expressions.values import flags, numbers_or_zero, to_array
from pyspark_pipeline.kernels.decimal_words import bitmap_of
from pyspark_pipeline.plan.expr import Call, constants

_ZERO = ord("0")
_FIRST, _LAST = -719528, 2932897


@dataclass(slots=True)
class LocalTimes:
    """The fields of local times, each int64, shape (rows,)."""

    days: Any
    micros: Any
    year: Any
    month: Any
    day: Any

    @classmethod
    def of(cls, days: Any, micros: Any) -> LocalTimes:
        """Split days since 1970-01-01; ``micros`` are the microseconds since midnight."""
        return cls(days, micros, *civil_from_days(days))

    @property
    def hour(self) -> Any:
        return self.micros // (3600 * SECOND)


def _names(names: Sequence[str], number: Any) -> Any:
    """Return the letters of the name of each row: uint8, shape (rows, 3)."""
    return np.frombuffer("".join(names).encode("ascii"), dtype=np.uint8).reshape(-1, 3)[number]


#: The fields: number of characters, and numbers to be written with as many digits or the characters themselves.
_FIELDS: dict[str, tuple[int, Callable[[LocalTimes], Any]]] = {
    "yyyy": (4, lambda times: times.year),
    "MM": (2, lambda times: times.month),
    "dd": (2, lambda times: times.day),
    "HH": (2, lambda times: times.hour),
    "hh": (2, lambda times: (times.hour + 11) % 12 + 1),
    "mm": (2, lambda times: times.micros // (60 * SECOND) % 60),
    "ss": (2, lambda times: times.micros // SECOND % 60),
    **{"S" * n: (n, lambda times, n=n: times.micros % SECOND // 10 ** (6 - n)) for n in range(1, 7)},  # type: ignore[misc]
    "MMM": (3, lambda times: _names(MONTH_NAMES, times.month - 1)),
    "E": (3, lambda times: _names(DAY_NAMES, (times.days + 3) % 7)),
    "EEE": (3, lambda times: _names(DAY_NAMES, (times.days + 3) % 7)),
}
_LITERAL = r"[^a-zA-Z'\[\]{}#]|'[^'\u0080-\U0010ffff]+'"
_TOKEN = rf"y+|M+|d+|H+|h+|m+|s+|S+|E+|{_LITERAL}"
_ASCII_LITERAL = r"[ !\"$%&(-@\\^_`|~]|'[ -&(-~]+'"
#: Patterns of these fields and of literals; a field does not follow itself.
PATTERN = (
    "(?:yyyy(?!y)|MMM(?!M)|(?<!M)MM(?!M)|dd(?!d)|HH(?!H)|hh(?!h)|mm(?!m)|ss(?!s)|"
    f"(?<!S)S{{1,6}}(?!S)|(?<!E)EEE(?!E)|(?<!E)E(?!E)|{_ASCII_LITERAL})+"
)


def _tokens(pattern: str) -> Iterator[str]:
    return (match[0] for match in re.finditer(_TOKEN, pattern))


class Formatter:
    """Formats local times by one pattern."""

    def __init__(self, pattern: str) -> None:
        self._tokens = list(_tokens(pattern))

    def format(self, days: Any, micros: Any, valid: pa.BooleanArray | None) -> pa.Array:
        """Return the text of local dates and microseconds since midnight: NULL in the rows that are not ``valid``."""
        usual = (days >= _FIRST) & (days < _LAST)
        text = self._fixed(LocalTimes.of(np.where(usual, days, 0), micros), valid)
        if usual.all():
            return text
        if valid is not None:
            usual |= ~flags(valid)
        unusual = np.flatnonzero(~usual)
        written = [self._one(LocalTimes.of(days[row : row + 1], micros[row : row + 1])) for row in unusual]
        return pc.replace_with_mask(text, pa.array(~usual), pa.array(written, pa.string()))

    def _fixed(self, times: LocalTimes, valid: pa.BooleanArray | None) -> pa.Array:
        parts = [_characters(token, times) for token in self._tokens]
        rows, width = len(times.days), sum(part.shape[1] for part in parts)
        matrix = np.empty((rows, width), dtype=np.uint8)
        column = 0
        for part in parts:
            matrix[:, column : column + part.shape[1]] = part
            column += part.shape[1]
        offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(width)
        bitmap = None if valid is None else bitmap_of(valid)
        return pa.Array.from_buffers(pa.string(), rows, [bitmap, pa.py_buffer(offsets), pa.py_buffer(matrix)])

    def _one(self, times: LocalTimes) -> str:
        return "".join(
            _year_text(int(times.year[0])) if token == "yyyy" else bytes(_characters(token, times)[0]).decode("ascii")
            for token in self._tokens
        )


def _year_text(year: int) -> str:
    return f"{'+' if year > 9999 else '-' if year < 0 else ''}{abs(year):04d}"


def _characters(token: str, times: LocalTimes) -> Any:
    """Return the characters of a token: uint8, shape (rows, width), or (1, width) for a literal."""
    if token not in _FIELDS:
        literal = token[1:-1] if len(token) > 1 else token
        return np.frombuffer(literal.encode("ascii"), dtype=np.uint8).reshape(1, -1)
    width, compute = _FIELDS[token]
    found = compute(times)
    if found.ndim == 2:
        return found
    digits = np.empty((len(found), width), dtype=np.uint8)
    for position in range(width - 1, -1, -1):
        digits[:, position] = found % 10 + _ZERO
        found = found // 10
    return digits


def _formatted(call: Call, zone: TimeZone, pattern: str, unit: int = 1) -> Kernel:
    formatter = Formatter(pattern)

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        days, micros = zone.local_times(numbers_or_zero(array) * unit)
        return formatter.format(days, micros, array.is_valid() if array.null_count else None)

    return Kernel(run=run)


@function("DateFormatClass", [
    case(["timestamp"], ["string"], fields=ZONED, matches={"1": PATTERN}, settings=PROLEPTIC_TEXT),
])  # fmt: skip
def _date_format(call: Call, settings: ExpressionSettings) -> Kernel:
    return _formatted(call, TimeZone(call.fields["timeZoneId"]), str(constants(call.args[1:])[0]))


@function("FromUnixTime", [
    case(["bigint"], ["string"], fields=ZONED, matches={"1": PATTERN}, settings=PROLEPTIC_TEXT),
])  # fmt: skip
def _from_unixtime(call: Call, settings: ExpressionSettings) -> Kernel:
    """Format seconds since 1970-01-01 00:00 UTC."""
    return _formatted(call, TimeZone(call.fields["timeZoneId"]), str(constants(call.args[1:])[0]), SECOND)


@function("Cast", [
    case(["timestamp"], result=["string"], fields=ZONED, settings=PROLEPTIC_TEXT),
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
