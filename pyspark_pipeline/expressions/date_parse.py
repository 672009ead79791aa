"""Strings to timestamps by a pattern: ``to_date``, ``to_timestamp``, ``unix_timestamp`` (Spark: ToTimestamp).

Patterns consist of fields, each at most once, and literals. Texts in a usual form of the pattern are parsed by a
compiled kernel; the others one by one, as Java's DateTimeFormatter parses them in its strict style.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.by_constants import by_constants
from pyspark_pipeline.expressions.dates import MONTH_NAMES
from pyspark_pipeline.expressions.per_value import python_values
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.time_zones import MAX_SECOND, TimeZone
from pyspark_pipeline.expressions.timestamps import SECOND
from pyspark_pipeline.expressions.values import from_numbers, to_array
from pyspark_pipeline.kernels import civil, pattern_parse
from pyspark_pipeline.kernels.decimal_words import pack_flags, valid_flags, validity_of
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.text_parse import text_of
from pyspark_pipeline.plan.expr import Call, constants

_DAY = 86_400 * SECOND
#: Fields of fixed width may be adjacent; those of one letter, fractions and texts stand between literals.
_FIXED = r"(?<!y)yyyy(?!y)|(?<!M)MM(?!M)|(?<!d)dd(?!d)|(?<!H)HH(?!H)|(?<!h)hh(?!h)|(?<!m)mm(?!m)|(?<!s)ss(?!s)"
_OFFSET = "(?:X{1,3}|Z{1,3})"
_LONE = rf"(?<![A-Za-z])(?:(?:[yMdHhmsa]|yy|MMMM?|{_OFFSET})(?![A-Za-z])|S{{1,9}}(?![A-WYa-z]))"
_FIELD = rf"{_FIXED}|{_LONE}|(?<=[sS]){_OFFSET}(?![A-Za-z])"
# Not digits, which a field before them would read, nor characters that patterns reserve.
_LITERAL = r"[ !\"$%&(-/:-@\\^_`|~]|'[ -&(-/:-~]+'(?!')"
_BEFORE = r"(?:[^']|'[^']*')*"


def _once(letter: str) -> str:
    return f"(?!{_BEFORE}{letter}(?:[^'{letter}]|'[^']*')+{letter})"


def _needs(letter: str, other: str) -> str:
    """Return a pattern that a field is absent or the other is present."""
    return f"(?:(?!{_BEFORE}{letter})|(?={_BEFORE}{other}))"


_FIELDS_AND_LITERALS = f"(?:{_FIELD}|{_LITERAL})+"
#: Patterns with a year, in which no field stands without the next larger one; an hour to 12 has AM or PM.
PATTERN = (
    f"(?={_BEFORE}y)"
    + "".join(_once(letter) for letter in "yMdHhmsSaXZ")
    + f"(?!{_BEFORE}H{_BEFORE}[ha])(?!{_BEFORE}[ha]{_BEFORE}H)(?!{_BEFORE}X{_BEFORE}Z)(?!{_BEFORE}Z{_BEFORE}X)"
    + "".join(_needs(letter, other) for letter, other in ("dM", "ha", "ah", "sm", "Ss", "Xs", "Zs"))
    + _needs("m", "[Hh]")
    + _FIELDS_AND_LITERALS
)
#: Patterns of a time of day alone, at most to microseconds.
TIME_PATTERN = (
    f"(?={_BEFORE}[Hh])(?!{_BEFORE}[yMdXZ])(?!{_BEFORE}SSSSSSS)"
    + "".join(_once(letter) for letter in "HhmsSa")
    + f"(?!{_BEFORE}H{_BEFORE}[ha])(?!{_BEFORE}[ha]{_BEFORE}H)"
    + "".join(_needs(letter, other) for letter, other in ("ha", "ah", "sm", "Ss"))
    + _FIELDS_AND_LITERALS
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
    "y": _Range("Year", -999_999_999, 999_999_999, "-999999999 - 999999999"),
    "M": _Range("MonthOfYear", 1, 12, "1 - 12"),
    "d": _Range("DayOfMonth", 1, 31, "1 - 28/31"),
    "H": _Range("HourOfDay", 0, 23, "0 - 23"),
    "h": _Range("ClockHourOfAmPm", 1, 12, "1 - 12"),
    "m": _Range("MinuteOfHour", 0, 59, "0 - 59"),
    "s": _Range("SecondOfMinute", 0, 59, "0 - 59"),
}
#: Stands for a field that the kernel does not parse: a byte that UTF-8 does not have.
_NO_BYTE = 0xFF
_CODES = {
    "y": pattern_parse.YEAR, "yy": pattern_parse.CENTURY_YEAR, "M": pattern_parse.MONTH,
    "MMM": pattern_parse.MONTH_NAME, "d": pattern_parse.DAY, "H": pattern_parse.HOUR, "h": pattern_parse.CLOCK_HOUR,
    "m": pattern_parse.MINUTE, "s": pattern_parse.SECOND, "S": pattern_parse.MICROS, "a": pattern_parse.AM_PM,
    "XXX": pattern_parse.OFFSET, "MMMM": _NO_BYTE,
}  # fmt: skip
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
    """A field of a pattern: its letters and the digits that the adjacent fields after it need (NumberPrinterParser)."""

    letters: str
    subsequent: int = 0

    @property
    def field(self) -> str:
        return self.letters[0]

    def parse(self, text: str, start: int) -> tuple[int, int]:
        """Return the value and the index after it; raise :class:`_FailedAt`."""
        pads_years = self.letters == "yyyy"
        least, most = {1: (1, 19), 2: (2, 2), 4: (4, 19)}[len(self.letters)]
        sign = text[start : start + 1]
        if not sign or (sign == "+" and not pads_years) or (sign == "-" and most == 2):
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
        if pads_years and sign not in "+-" and count > least:
            raise _FailedAt(first)
        if self.letters == "yy":
            return 2000 + value, end
        value = -value if sign == "-" else value
        if not -(2**63) <= value < 2**63:
            return (-(-value // 10) if value < 0 else value // 10), end - 1
        return value, end


class _Fraction:
    """Digits of a second's fraction, at most as many as letters; the value is in microseconds."""

    def __init__(self, letters: str) -> None:
        self.field = letters[0]
        self._most = len(letters)

    def parse(self, text: str, start: int) -> tuple[int, int]:
        """Return the value and the index after it; raise :class:`_FailedAt`."""
        count = _digits(text, start, self._most)
        if not count:
            raise _FailedAt(start)
        return int(text[start : start + count].ljust(6, "0")[:6]), start + count


class _Name:
    """The name of a month, from 1, or AM or PM, from 0, in any case."""

    def __init__(self, letters: str) -> None:
        self.field = letters[0]
        self._names = _NAMES[letters]

    def parse(self, text: str, start: int) -> tuple[int, int]:
        """Return the number and the index after the name; raise :class:`_FailedAt`."""
        for name, number in self._names.items():
            if _folded(text[start : start + len(name)]) == name:
                return number, start + len(name)
        raise _FailedAt(start)


_NAMES = {
    "a": {"am": 0, "pm": 1},
    "MMM": dict(zip(map(str.lower, MONTH_NAMES), range(1, 13), strict=True)),
    "MMMM": dict(zip(map(str.lower, _MONTHS), range(1, 13), strict=True)),
}


class _Offset:
    """An offset from UTC, or Z for none; the value is in seconds."""

    def __init__(self, letters: str) -> None:
        self.field = "X"
        self._has_letter = letters[0] == "X"
        self._format = _OFFSETS.get(letters, _OFFSETS["XX"])

    def parse(self, text: str, start: int) -> tuple[int, int]:
        """Return the value and the index after it; raise :class:`_FailedAt`."""
        if found := self._format.match(text, start):
            hours, minutes = int(found[2]), int(found[3] or 0)
            if hours > 23:
                reason = "Value out of range: Hour[0-23], Minute[0-59], Second[0-59]"
                raise ValueError(f"Text '{_abbreviated(text)}' could not be parsed: {reason}")
            east = hours * 3600 + minutes * 60
            return -east if found[1] == "-" else east, found.end()
        if self._has_letter and _folded(text[start : start + 1]) == "z":
            return 0, start + 1
        raise _FailedAt(start)


_OFFSETS = {
    letters: re.compile(f"([+-])([0-5][0-9]){minutes}", re.ASCII)
    for letters, minutes in (("XXX", ":([0-5][0-9])"), ("XX", "([0-5][0-9])"), ("X", "([0-5][0-9])?"))
}
_PARTS: dict[str, type[_Fraction | _Name | _Offset]] = {"S": _Fraction, "X": _Offset, "Z": _Offset}


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
        self._parts: list[_Number | _Fraction | _Name | _Offset | str] = []
        widths: list[tuple[int, int, int]] = []
        base: _Number | None = None
        for token in tokens:
            if not token[0].isalpha():
                literal = token.strip("'") if len(token) > 1 else token
                self._parts.append(literal)
                widths += [(byte, 1, 1) for byte in literal.encode("ascii")]
                base = None
                continue
            code = _CODES.get(token, _CODES.get(token[0], _NO_BYTE))
            if token[0] in _RANGES and token not in _NAMES:
                number = _Number(token)
                self._parts.append(number)
                widths.append((code, len(token), 9 if len(token) == 1 else len(token)))
                if base is None or token == "yyyy":
                    base = number
                else:
                    base.subsequent += 2
            else:
                base = None
                self._parts.append(_PARTS.get(token[0], _Name)(token))
                widths.append((code, 1, len(token)))
        self.widths = tuple(frozen(column) for column in np.array(widths, dtype=np.int16).T.copy())

    def parse(self, text: str) -> tuple[int, int | None]:
        """Return the local microseconds since 1970-01-01 and the offset from UTC in seconds, if the text has one.

        Raise ValueError with the message of Java's exception.
        """
        try:
            fields = self._fields(text)
        except _FailedAt as failed:
            raise ValueError(f"Text '{_abbreviated(text)}' could not be parsed at index {failed.index}") from None
        has_date = "d" in fields
        try:
            if has_date:
                check_date(fields)
            if "h" in fields:
                _RANGES["h"].check(fields["h"])
                fields["H"] = fields["h"] % 12 + 12 * fields["a"]
            check_fields(fields, "mHs")
            if abs(fields.get("X", 0)) > 18 * 3600:
                raise ValueError("Zone offset not in valid range: -18:00 to +18:00")
        except ValueError as error:
            raise ValueError(f"Text '{_abbreviated(text)}' could not be parsed: {error}") from None
        if not has_date and "y" in fields:
            check_date(fields)
        date = fields.get("y", 1970), fields.get("M", 1), fields.get("d", 1)
        days = int(civil.days_of.py_func(*date))
        seconds = days * 86400 + fields.get("H", 0) * 3600 + fields.get("m", 0) * 60 + fields.get("s", 0)
        return seconds * SECOND + fields.get("S", 0), fields.get("X")

    def _fields(self, text: str) -> dict[str, int]:
        fields: dict[str, int] = {}
        index = 0
        for part in self._parts:
            if not isinstance(part, str):
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


def check_date(fields: dict[str, int]) -> None:
    year, month, day = fields["y"], fields.get("M", 1), fields.get("d", 1)
    for field, value in (("y", year), ("M", month), ("d", day)):
        _RANGES[field].check(value)
    if day > civil.days_in.py_func(year, month):
        if day == 29:
            raise ValueError(f"Invalid date 'February 29' as '{year}' is not a leap year")
        raise ValueError(f"Invalid date '{_MONTHS[month - 1]} {day}'")


def check_fields(fields: dict[str, int], letters: str) -> None:
    """Check the ranges of fields, in order; raise ValueError with the message of Java's exception."""
    for letter in letters:
        _RANGES[letter].check(fields.get(letter, 0))


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
    """Build the kernel of ``call``, whose result is in units of ``unit`` microseconds."""
    parser = Parser(str(constants(call.args[1:])[0]))
    is_local = call.type.kind == "timestamp_ntz"  # the offset of a text is not used
    zone = TimeZone("UTC" if is_local else call.fields["timeZoneId"])
    raises = bool(call.fields["failOnError"])

    def instants(local: Any, east: Any) -> Any:
        """Return the instants of local date-times, both in microseconds."""
        if is_local:
            return local
        has_offset = east != pattern_parse.LOCAL
        if has_offset.all():
            return local - east.astype(np.int64) * SECOND
        seconds = local // SECOND
        moved = np.where(has_offset, seconds - east, zone.instant_seconds(seconds))
        return (moved - seconds) * SECOND + local

    def parse_others(array: pa.Array, others: Any, micros: Any, fits: Any) -> None:
        for row, text in zip(others, python_values(array.take(pa.array(others))), strict=True):
            try:
                local, east = parser.parse(_as_java(text))
            except ValueError as error:
                if raises:
                    raise conditions.cannot_parse_timestamp(str(error), function_on_failure) from None
                fits[row] = False
                continue
            second = local // SECOND
            has_offset = east is not None and not is_local
            found = second - (east or 0) if has_offset else int(zone.instant_seconds(np.array([second]))[0])
            if abs(found) > MAX_SECOND:
                raise conditions.timestamp_overflow()
            micros[row] = found * SECOND + local % SECOND

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        local, east = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int32)
        fits = np.empty(rows, dtype=np.bool_)
        pattern_parse.parse_pattern(*text_of(array), *parser.widths, local, east, fits)
        validity = validity_of([array])
        valid = valid_flags(validity, rows)
        others = np.flatnonzero(valid & ~fits)
        micros = instants(local, east)
        fits[others] = True
        if len(others):
            parse_others(array, others, micros, fits)
            validity = pack_flags(valid & fits)
        found = micros if unit == 1 else (micros + (micros < 0) * (unit - 1)) // unit
        return from_numbers(found, call.type.arrow, validity)

    return Kernel(run=run, can_raise=True, by_dictionary=True)


@function("ToTimeParser.parse", [case(["string"], field_matches={"fmt": TIME_PATTERN})])
def _to_time(call: Call, settings: ExpressionSettings) -> Kernel:
    """Parse by a pattern of a time of day, whatever the policy for other patterns is."""
    pattern = str(call.fields["fmt"])
    parser = Parser(pattern)

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        local, east = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.int32)
        fits = np.empty(rows, dtype=np.bool_)
        pattern_parse.parse_pattern(*text_of(array), *parser.widths, local, east, fits)
        validity = validity_of([array])
        micros: Any = local % _DAY  # of some day: the kernel needs one
        others = np.flatnonzero(valid_flags(validity, rows) & ~fits)
        for row, text in zip(others, python_values(array.take(pa.array(others))), strict=True):
            try:
                micros[row] = parser.parse(_as_java(text))[0]
            except ValueError:
                raise conditions.cannot_parse_time(_as_java(text), pattern) from None
        return from_numbers(micros * 1000, call.type.arrow, validity)

    return Kernel(run=run, can_raise=True, by_dictionary=True)


#: Another policy raises SparkUpgradeException, or parses by Java's older classes.
_CORRECTED = {"spark.sql.legacy.timeParserPolicy": ["CORRECTED"]}
_CONDITIONS: dict[str, Any] = {"matches": {"1": PATTERN}, "settings": _CORRECTED}


@function("GetTimestamp", [case(["string"], ["string"], result=["timestamp", "timestamp_ntz"], **_CONDITIONS)])
def _get_timestamp(call: Call, settings: ExpressionSettings) -> Kernel:
    return _parsed(call, 1, str(call.fields["suggestedFuncOnFail"]))


for _name in ("UnixTimestamp", "ToUnixTimestamp"):

    @function(_name, [case(["string"], ["string"], **_CONDITIONS)])
    def _unix_timestamp(call: Call, settings: ExpressionSettings) -> Kernel:
        return _parsed(call, SECOND, "try_to_timestamp")


_CHOSEN: dict[str, Any] = {"choices": {"1": PATTERN}, "settings": _CORRECTED}
_PARSED_CASE = case(["string"], ["string"], result=["timestamp", "timestamp_ntz"], **_CHOSEN)
by_constants("GetTimestamp", [_PARSED_CASE], [1], can_raise=True)
for _name in ("UnixTimestamp", "ToUnixTimestamp"):
    by_constants(_name, [case(["string"], ["string"], **_CHOSEN)], [1], can_raise=True)
