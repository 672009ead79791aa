"""Strings to timestamps by a pattern: ``to_date``, ``to_timestamp``, ``unix_timestamp`` (Spark: ToTimestamp).

Patterns consist of fields of fixed width, each at most once, and literals. Texts in the plain form of the pattern
are parsed by a compiled kernel; the others one by one, as Java's DateTimeFormatter parses them in its strict style.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.per_value import python_values
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.time_zones import MAX_SECOND, TimeZone
from pyspark_pipeline.expressions.timestamps import SECOND, ZONED
from pyspark_pipeline.expressions.values import from_numbers, to_array
from pyspark_pipeline.kernels import civil, pattern_parse
from pyspark_pipeline.kernels.decimal_words import pack_flags, valid_flags, validity_of
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.text_parse import text_of
from pyspark_pipeline.plan.expr import Call, constants

_FIELD = r"yyyy(?!y)|(?<!M)MM(?!M)|(?<!d)dd(?!d)|(?<!H)HH(?!H)|(?<!m)mm(?!m)|(?<!s)ss(?!s)"
# Not digits, which a field before them would read, nor characters that patterns reserve.
_LITERAL = r"[ !\"$%&(-/:-@\\^_`|~]|'[ -&(-/:-~]+'(?!')"
_BEFORE = r"(?:[^']|'[^']*')*"


def _once(field: str) -> str:
    return f"(?!{_BEFORE}{field}{_BEFORE}{field})"


def _needs(field: str, other: str) -> str:
    """Return a pattern that a field is absent or the other is present."""
    return f"(?:(?!{_BEFORE}{field})|(?={_BEFORE}{other}))"


#: Patterns with a year, in which no field stands without the next larger one.
PATTERN = (
    f"(?={_BEFORE}yyyy)"
    + "".join(_once(field) for field in ("yyyy", "MM", "dd", "HH", "mm", "ss"))
    + _needs("dd", "MM")
    + _needs("mm", "HH")
    + _needs("ss", "mm")
    + f"(?:{_FIELD}|{_LITERAL})+"
)


@dataclass(frozen=True, slots=True)
class _Range:
    """The name and the values of a field in Java (ChronoField)."""

    name: str
    low: int
    high: int
    text: str

    def check(self, value: int) -> None:
        if not self.low <= value <= self.high:
            raise ValueError(f"Invalid value for {self.name} (valid values {self.text}): {value}")


_RANGES = {
    "yyyy": _Range("Year", -999_999_999, 999_999_999, "-999999999 - 999999999"),
    "MM": _Range("MonthOfYear", 1, 12, "1 - 12"),
    "dd": _Range("DayOfMonth", 1, 31, "1 - 28/31"),
    "HH": _Range("HourOfDay", 0, 23, "0 - 23"),
    "mm": _Range("MinuteOfHour", 0, 59, "0 - 59"),
    "ss": _Range("SecondOfMinute", 0, 59, "0 - 59"),
}
_CODES = dict(zip(_RANGES, range(pattern_parse.YEAR, pattern_parse.SECOND + 1), strict=True))
_MONTHS = (
    "JANUARY", "FEBRUARY", "MARCH", "APRIL", "MAY", "JUNE", "JULY", "AUGUST", "SEPTEMBER", "OCTOBER", "NOVEMBER",
    "DECEMBER",
)  # fmt: skip
#: The characters beyond ASCII that Java's comparison without case equates with a letter.
_SAME_LETTER = {"\u0130": "i", "\u0131": "i", "\u017f": "s", "\u212a": "k"}


class _FailedAt(Exception):
    """The parser failed at an index of the text."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


@dataclass(slots=True)
class _Number:
    """A field of a pattern: its widths and the digits that the adjacent fields after it need (NumberPrinterParser)."""

    field: str
    subsequent: int = 0

    def parse(self, text: str, start: int) -> tuple[int, int]:
        """Return the value and the index after it; raise :class:`_FailedAt`."""
        is_year = self.field == "yyyy"
        least, most = (4, 19) if is_year else (2, 2)
        sign = text[start : start + 1]
        if not sign or (sign in "+-" and not is_year):
            raise _FailedAt(start)
        first = start + (sign in "+-")
        end = first + _digits(text, first, most + self.subsequent)
        if end - first < least:
            raise _FailedAt(first)
        if self.subsequent > 0:
            end = first + min(end - first, max(least, end - first - self.subsequent))
        value, count = int(text[first:end]), end - first
        if (sign == "-" and value == 0) or (sign == "+" and count <= least):
            raise _FailedAt(start)
        if is_year and sign not in "+-" and count > least:
            raise _FailedAt(first)
        value = -value if sign == "-" else value
        if not -(2**63) <= value < 2**63:
            return (-(-value // 10) if value < 0 else value // 10), end - 1
        return value, end


def _digits(text: str, start: int, most: int) -> int:
    """Count the ASCII digits from ``start``, at most ``most``."""
    count = 0
    while count < most and "0" <= text[start + count : start + count + 1] <= "9":
        count += 1
    return count


class Parser:
    """Parses texts by one pattern."""

    def __init__(self, pattern: str) -> None:
        tokens = [match[0] for match in re.finditer(f"{_FIELD}|{_LITERAL}", pattern)]
        self._parts: list[_Number | str] = []
        codes: list[int] = []
        base: _Number | None = None
        for token in tokens:
            if token not in _RANGES:
                literal = token[1:-1] if len(token) > 1 else token
                self._parts.append(literal)
                codes += literal.encode("ascii")
                base = None
                continue
            number = _Number(token)
            self._parts.append(number)
            codes += [_CODES[token]] * len(token)
            if base is None or token == "yyyy":
                base = number
            else:
                base.subsequent += 2
        self.codes = frozen(np.array(codes, dtype=np.int16))

    def seconds(self, text: str) -> int:
        """Return the local seconds since 1970-01-01; raise ValueError with the message of Java's exception."""
        try:
            fields = self._fields(text)
        except _FailedAt as failed:
            raise ValueError(f"Text '{_abbreviated(text)}' could not be parsed at index {failed.index}") from None
        has_date = "dd" in fields
        try:
            if has_date:
                _check_date(fields)
            for field in ("mm", "HH", "ss"):
                _RANGES[field].check(fields.get(field, 0))
        except ValueError as error:
            raise ValueError(f"Text '{_abbreviated(text)}' could not be parsed: {error}") from None
        if not has_date:
            _check_date(fields)
        days = civil.days_of.py_func(fields["yyyy"], fields.get("MM", 1), fields.get("dd", 1))
        return int(days) * 86400 + fields.get("HH", 0) * 3600 + fields.get("mm", 0) * 60 + fields.get("ss", 0)

    def _fields(self, text: str) -> dict[str, int]:
        fields: dict[str, int] = {}
        index = 0
        for part in self._parts:
            if isinstance(part, _Number):
                fields[part.field], index = part.parse(text, index)
            elif _folded(text[index : index + len(part)]) == _folded(part):
                index += len(part)
            else:
                raise _FailedAt(index)
        if index < len(text):
            raise ValueError(f"Text '{_abbreviated(text)}' could not be parsed, unparsed text found at index {index}")
        return fields


def _folded(text: str) -> str:
    return "".join(_SAME_LETTER.get(letter, letter.lower() if letter.isascii() else letter) for letter in text)


def _check_date(fields: dict[str, int]) -> None:
    year, month, day = fields["yyyy"], fields.get("MM", 1), fields.get("dd", 1)
    for field, value in (("yyyy", year), ("MM", month), ("dd", day)):
        _RANGES[field].check(value)
    if day > civil.days_in.py_func(year, month):
        if day == 29:
            raise ValueError(f"Invalid date 'February 29' as '{year}' is not a leap year")
        raise ValueError(f"Invalid date '{_MONTHS[month - 1]} {day}'")


def _abbreviated(text: str) -> str:
    """Return the first 64 UTF-16 units of a text, with an ellipsis if it is longer; half a character is ``?``."""
    units = text.encode("utf-16-le")
    if len(units) <= 128:
        return text
    first = units[:128].decode("utf-16-le", "surrogatepass")
    return first.encode("utf-8", "replace").decode("utf-8") + "..."


def _as_java(text: str) -> str:
    """Return a text as Java decodes its bytes, with replacements for bytes that are not UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _parsed(call: Call, unit: int, function_on_failure: str) -> Kernel:
    """Build the kernel of ``call``, whose result is in ``unit`` per second."""
    parser, zone = Parser(str(constants(call.args[1:])[0])), TimeZone(call.fields["timeZoneId"])
    raises = bool(call.fields["failOnError"])

    def parse_others(array: pa.Array, others: Any, seconds: Any, fits: Any) -> None:
        for row, text in zip(others, python_values(array.take(pa.array(others))), strict=True):
            try:
                found = zone.instant_seconds(np.array([parser.seconds(_as_java(text))], dtype=np.int64))
            except ValueError as error:
                if raises:
                    raise conditions.cannot_parse_timestamp(str(error), function_on_failure) from None
                fits[row] = False
                continue
            if abs(int(found[0])) > MAX_SECOND:
                raise conditions.timestamp_overflow()
            seconds[row] = found[0]

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        seconds = np.empty(rows, dtype=np.int64)
        fits = np.empty(rows, dtype=np.bool_)
        pattern_parse.parse_pattern(*text_of(array), parser.codes, seconds, fits)
        validity = validity_of([array])
        valid = valid_flags(validity, rows)
        others = np.flatnonzero(valid & ~fits)
        seconds = zone.instant_seconds(seconds)
        fits[others] = True
        if len(others):
            parse_others(array, others, seconds, fits)
            validity = pack_flags(valid & fits)
        return from_numbers(seconds * unit, call.type.arrow, validity)

    return Kernel(run=run, can_raise=True, by_dictionary=True)


#: Another policy raises SparkUpgradeException, or parses by Java's older classes.
_CORRECTED = {"spark.sql.legacy.timeParserPolicy": ["CORRECTED"]}
_CONDITIONS: dict[str, Any] = {"fields": ZONED, "matches": {"1": PATTERN}, "settings": _CORRECTED}


@function("GetTimestamp", [case(["string"], ["string"], result=["timestamp"], **_CONDITIONS)])
def _get_timestamp(call: Call, settings: ExpressionSettings) -> Kernel:
    return _parsed(call, SECOND, str(call.fields["suggestedFuncOnFail"]))


for _name in ("UnixTimestamp", "ToUnixTimestamp"):

    @function(_name, [case(["string"], ["string"], **_CONDITIONS)])
    def _unix_timestamp(call: Call, settings: ExpressionSettings) -> Kernel:
        return _parsed(call, 1, "try_to_timestamp")
