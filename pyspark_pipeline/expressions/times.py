"""Times of day: fields, truncation, differences, sums with intervals, conversion from and to numbers (DateTimeUtils).

A time of day is nanoseconds since midnight. Spark calls static methods for all of these functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.by_constants import by_constants
from pyspark_pipeline.expressions.cases import DAY_TIME
from pyspark_pipeline.expressions.date_make import timestamps_of
from pyspark_pipeline.expressions.per_value import map_distinct
from pyspark_pipeline.expressions.registry import FLOATING, INTEGRAL, ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.time_zones import TimeZone
from pyspark_pipeline.expressions.timestamps import ANY_TEXT, named_zone
from pyspark_pipeline.expressions.values import from_numbers, number_kernel, numbers_or_zero, to_array
from pyspark_pipeline.kernels.decimal_words import decimal_array, new_words, valid_flags, validity_of, words_of
from pyspark_pipeline.plan.expr import Call, constants

SECOND = 1_000_000_000
DAY = 86_400 * SECOND
_MICROS = 1_000_000
_EXACT = Context(prec=60)
_UNITS = {
    "MICROSECOND": 1000, "MILLISECOND": 1_000_000, "SECOND": SECOND, "MINUTE": 60 * SECOND, "HOUR": 3600 * SECOND,
}  # fmt: skip


def cut(nanos: Any, digits: int) -> Any:
    """Return nanoseconds without the digits of a second beyond ``digits``, as Java divides."""
    unit = 10 ** (9 - digits)
    return nanos - np.fmod(nanos, unit)


def quotient(dividend: Any, unit: Any) -> Any:
    """Divide as Java, toward zero."""
    return (dividend - np.fmod(dividend, unit)) // unit


def shown_time(nanos: int) -> str:
    """Format a time of day as Spark shows it."""
    seconds, rest = divmod(nanos, SECOND)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{fraction}"


_FIELDS: dict[str, Callable[[Any], Any]] = {
    "DateTimeUtils.getHoursOfTime": lambda nanos: nanos // (3600 * SECOND),
    "DateTimeUtils.getMinutesOfTime": lambda nanos: nanos // (60 * SECOND) % 60,
    "DateTimeUtils.getSecondsOfTime": lambda nanos: nanos // SECOND % 60,
    "DateTimeUtils.timeToMillis": lambda nanos: nanos // 1_000_000,
    "DateTimeUtils.timeToMicros": lambda nanos: nanos // 1000,
}

for _name in _FIELDS:

    @function(_name, [case(["time"])])
    def _field(call: Call, settings: ExpressionSettings) -> Kernel:
        return number_kernel(_FIELDS[call.name], call.type.arrow)


def _decimals(call: Call, compute: Callable[[Any], Any]) -> Kernel:
    """Build a kernel of unscaled decimals, which fit 64 bits and are not negative, of the first argument."""

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        data, words = new_words(rows)
        words[:, 0] = compute(numbers_or_zero(array))
        words[:, 1] = 0
        return decimal_array(call.type.arrow, rows, validity_of([array]), data)

    return Kernel(run=run)


@function("DateTimeUtils.getSecondsOfTimeWithFraction", [case(["time"], ["int"], literal=[1])])
def _seconds_with_fraction(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the seconds of the minute, with as many digits as the type of the time has."""
    digits = int(constants(call.args[1:])[0])
    scale = call.type.scale

    def compute(nanos: Any) -> Any:
        return cut(nanos % (60 * SECOND), digits) // 10 ** (9 - scale)

    return _decimals(call, compute)


@function("DateTimeUtils.timeToSeconds", [case(["time"])])
def _to_seconds(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the seconds since midnight as a decimal of six digits of a second, rounded half up."""
    return _decimals(call, lambda nanos: (nanos + 500) // 1000)


@function("DateTimeUtils.subtractTimes", [case(["time"], ["time"])])
def _subtract(call: Call, settings: ExpressionSettings) -> Kernel:
    def run(values: Sequence[Value], rows: int) -> Value:
        arrays = [to_array(value, rows) for value in values]
        end, start = (numbers_or_zero(array) for array in arrays)
        return from_numbers(quotient(np.subtract(end, start), 1000), call.type.arrow, validity_of(arrays))

    return Kernel(run=run)


#: The names of the fields that end an interval and their microseconds.
_ENDS = [("DAY", 86_400 * _MICROS), ("HOUR", 3600 * _MICROS), ("MINUTE", 60 * _MICROS), ("SECOND", _MICROS)]
_LARGEST = np.iinfo(np.int64).max


@function(
    "DateTimeUtils.timeAddInterval",
    [case(["time"], ["int"], [DAY_TIME], ["tinyint"], ["int"], literal=[1, 3, 4])],
)
def _add_interval(call: Call, settings: ExpressionSettings) -> Kernel:
    """Add an interval; raise Spark's error outside the day."""
    end_field, digits = (int(value) for value in constants(call.args[3:]))

    def run(values: Sequence[Value], rows: int) -> Value:
        arrays = [to_array(values[0], rows), to_array(values[2], rows)]
        time, micros = (numbers_or_zero(array).astype(np.int64) for array in arrays)
        fits = np.abs(micros // _MICROS) <= 86_400
        nanos = time + np.where(fits, micros, 0) * 1000
        fits &= (nanos >= 0) & (nanos < DAY)
        refused = valid_flags(validity_of(arrays), rows) & ~fits
        if refused.any():
            row = int(np.argmax(refused))
            raise _outside_day(int(time[row]), int(micros[row]), end_field)
        return from_numbers(np.where(fits, cut(nanos, digits), 0), call.type.arrow, validity_of(arrays))

    return Kernel(run=run, can_raise=True)


def _outside_day(time: int, micros: int, end_field: int) -> Exception:
    if abs(time + micros * 1000) > _LARGEST or abs(micros * 1000) > _LARGEST:
        return conditions.arithmetic_overflow("bigint", "", -1)
    name, unit = _ENDS[end_field]
    sign, whole, rest = "-" if micros < 0 else "", abs(micros) // unit, abs(micros) % unit
    fraction = f".{rest:06d}".rstrip("0") if rest and name == "SECOND" else ""
    shown = f"INTERVAL '{sign}{whole:02d}{fraction}' {name}"
    return conditions.datetime_overflow(f"add {shown} to the time value TIME '{shown_time(time)}'")


def _units(call: Call, value: Value, valid: Any, function_name: str) -> Any:
    """Return the nanoseconds of the units that a text names: a number, or one per row; NULL has any."""

    def unit_of(text: str | None) -> int | None:
        return None if text is None else _UNITS.get(text.upper(), 0)

    if isinstance(value, pa.Scalar):
        found = unit_of(value.as_py())
        if found == 0 and valid.any():
            raise conditions.invalid_time_unit(function_name, value.as_py())
        return found or 1
    encoded = value if isinstance(value, pa.DictionaryArray) else value.dictionary_encode()
    known = np.array([unit_of(text) or 0 for text in encoded.dictionary.to_pylist()] + [1], dtype=np.int64)
    units = known[np.asarray(encoded.indices.fill_null(len(known) - 1)).astype(np.int64)]
    refused = valid & (units == 0)
    if refused.any():
        raise conditions.invalid_time_unit(function_name, value[int(np.argmax(refused))].as_py())
    return np.maximum(units, 1)


@function("DateTimeUtils.timeTrunc", [case(["string"], ["time"])])
def _truncate(call: Call, settings: ExpressionSettings) -> Kernel:
    def run(values: Sequence[Value], rows: int) -> Value:
        time = to_array(values[1], rows)
        validity = validity_of([to_array(values[0], rows), time])
        units = _units(call, values[0], valid_flags(validity, rows), "time_trunc")
        nanos = numbers_or_zero(time)
        return from_numbers(np.subtract(nanos, np.mod(nanos, units)), call.type.arrow, validity)

    return Kernel(run=run, can_raise=True)


@function("DateTimeUtils.timeDiff", [case(["string"], ["time"], ["time"])])
def _difference(call: Call, settings: ExpressionSettings) -> Kernel:
    """Count the whole units between two times."""

    def run(values: Sequence[Value], rows: int) -> Value:
        arrays = [to_array(value, rows) for value in values]
        validity = validity_of(arrays)
        units = _units(call, values[0], valid_flags(validity, rows), "time_diff")
        start, end = (numbers_or_zero(array) for array in arrays[1:])
        return from_numbers(quotient(np.subtract(end, start), units), pa.int64(), validity)

    return Kernel(run=run, can_raise=True)


_PART_RANGES = (("HourOfDay", 23), ("MinuteOfHour", 59), ("SecondOfMinute", 59))


@function("DateTimeUtils.makeTime", [case(["int"], ["int"], ["decimal"])])
def _make_time(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the time of an hour, a minute and seconds, decimal(16,6); raise Spark's error if there is none."""

    def run(values: Sequence[Value], rows: int) -> Value:
        arrays = [to_array(value, rows) for value in values]
        valid = valid_flags(validity_of(arrays), rows)
        hour, minute = (numbers_or_zero(array).astype(np.int64) for array in arrays[:2])
        unscaled = np.where(valid, words_of(arrays[2])[0][:, 0], 0)
        exists = (hour >= 0) & (hour < 24) & (minute >= 0) & (minute < 60) & (unscaled >= 0) & (unscaled < 60 * _MICROS)
        if (valid & ~exists).any():
            row = int(np.argmax(valid & ~exists))
            raise _no_time(int(hour[row]), int(minute[row]), int(unscaled[row]))
        nanos = (hour * 3600 + minute * 60) * SECOND + unscaled * 1000
        return from_numbers(np.where(exists, nanos, 0), call.type.arrow, validity_of(arrays))

    return Kernel(run=run, can_raise=True)


def _no_time(hour: int, minute: int, unscaled: int) -> Exception:
    seconds = unscaled // _MICROS
    parts = zip(_PART_RANGES, (hour, minute, seconds), strict=True)
    if not 0 <= seconds <= 2**31 - 1:
        message = f"Invalid value for SecondOfMinute (valid values 0 - 59): {quotient_of(unscaled)}"
    else:
        (name, most), value = next((known, value) for known, value in parts if not 0 <= value <= known[1])
        message = f"Invalid value for {name} (valid values 0 - {most}): {value}"
    return conditions.field_out_of_bounds(message, False)


def quotient_of(unscaled: int) -> int:
    """Return the whole seconds of microseconds, rounded toward zero."""
    return -(-unscaled // _MICROS) if unscaled < 0 else unscaled // _MICROS


@function("DateTimeUtils.makeTimestampNTZ", [case(["date"], ["time"])])
def _make_local_timestamp(call: Call, settings: ExpressionSettings) -> Kernel:
    return _timestamps(call, lambda: TimeZone("UTC"))


@function("DateTimeUtils.makeTimestamp", [case(["date"], ["time"], ["string"], matches={"2": ANY_TEXT})])
def _make_timestamp(call: Call, settings: ExpressionSettings) -> Kernel:
    return _timestamps(call, named_zone(str(constants(call.args[2:])[0])))


by_constants("DateTimeUtils.makeTimestamp", [case(["date"], ["time"], ["string"])], [2], can_raise=True)


def _timestamps(call: Call, zone: Callable[[], TimeZone]) -> Kernel:
    """Build the kernel of timestamps of a date and a time in a time zone."""

    def run(values: Sequence[Value], rows: int) -> Value:
        arrays = [to_array(value, rows) for value in values[:2]]
        valid = valid_flags(validity_of(arrays), rows)
        if not valid.any():
            return pa.nulls(rows, call.type.arrow)
        days, nanos = (numbers_or_zero(array).astype(np.int64) for array in arrays)
        seconds = np.where(valid, zone().instant_seconds(days * 86_400 + nanos // SECOND), 0)
        micros = np.where(valid, nanos % SECOND // 1000, 0)
        return from_numbers(timestamps_of(seconds, micros), call.type.arrow, validity_of(arrays))

    return Kernel(run=run, can_raise=True)


_FROM_INTEGERS = {"timeFromSeconds": SECOND, "timeFromMillis": 1_000_000, "timeFromMicros": 1000}

for _short in _FROM_INTEGERS:

    @function(f"DateTimeUtils.{_short}", [case(INTEGRAL)])
    def _from_integer(call: Call, settings: ExpressionSettings) -> Kernel:
        """Return the time of a number of units since midnight; raise outside the day."""
        unit = _FROM_INTEGERS[call.name.partition(".")[2]]

        def compute(counts: Any) -> Any:
            numbers = counts.astype(np.int64)
            refused = (numbers < 0) | (numbers >= DAY // unit)
            if refused.any():
                raise conditions.no_time_of(int(numbers[np.argmax(refused)]) * unit)
            return numbers * unit

        return number_kernel(compute, call.type.arrow, read=numbers_or_zero, can_raise=True)


@function("DateTimeUtils.timeFromSeconds", [case(["decimal"], slower=True)])
def _from_decimal(call: Call, settings: ExpressionSettings) -> Kernel:
    """Raise for a fraction of a nanosecond too."""

    def convert(seconds: Decimal) -> int:
        nanos = seconds.scaleb(9, _EXACT)
        return _checked(int(nanos) if nanos == nanos.to_integral_value() else None)

    def run(values: Sequence[Value], rows: int) -> Value:
        return map_distinct(to_array(values[0], rows), convert, call.type.arrow)

    return Kernel(run=run, can_raise=True)


@function("DateTimeUtils.timeFromSeconds", [case(FLOATING)])
def _from_double(call: Call, settings: ExpressionSettings) -> Kernel:
    """Cut off below a nanosecond; raise for NaN and infinities too."""

    def compute(seconds: Any) -> Any:
        with np.errstate(all="ignore"):
            nanos = np.trunc(seconds.astype(np.float64) * float(SECOND))
        fits = (nanos >= 0) & (nanos < DAY)
        if not fits.all():
            first = float(nanos[np.argmin(fits)])
            if not np.isfinite(seconds[np.argmin(fits)]):
                raise conditions.field_out_of_bounds("Cannot convert NaN or Infinite value to TIME", False)
            raise conditions.no_time_of(min(max(int(first), -(2**63)), 2**63 - 1))
        return nanos.astype(np.int64)

    return number_kernel(compute, call.type.arrow, read=numbers_or_zero, can_raise=True)


def _checked(nanos: int | None) -> int:
    if nanos is None or not 0 <= nanos < DAY:
        raise conditions.no_time_of(nanos)
    return nanos
