"""Timestamps: fields of the time of day, truncation, conversion from and to numbers (Spark: datetimeExpressions.scala).

A timestamp is microseconds since 1970-01-01 00:00 UTC; a ``timestamp_ntz`` is local, without a time zone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.by_constants import by_constants
from pyspark_pipeline.expressions.cast_time import zone_kernel
from pyspark_pipeline.expressions.dates import MONTH_LEVELS, civil_from_days, last_days, truncated_days
from pyspark_pipeline.expressions.per_value import map_distinct
from pyspark_pipeline.expressions.registry import FLOATING, INTEGRAL, ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.time_zones import TimeZone, zone_of
from pyspark_pipeline.expressions.values import from_numbers, number_kernel, numbers_or_zero, to_array
from pyspark_pipeline.kernels.decimal_words import (
    decimal_array,
    new_words,
    pack_flags,
    valid_flags,
    validity_of,
    words_of,
)
from pyspark_pipeline.plan.expr import Call, constants

SECOND = 1_000_000
_LARGEST_LONG = 2**63 - 1
_EXACT = Context(prec=60)
_MOMENT = [case(["timestamp"]), case(["timestamp_ntz"])]


#: The pattern of a constant that is not NULL.
ANY_TEXT = ".*"


def named_zone(text: str) -> Callable[[], TimeZone]:
    """Return a function that returns the time zone of a text, or raises Spark's error if there is none."""

    def zone() -> TimeZone:
        found = zone_of(text)
        if found is None:
            raise conditions.invalid_time_zone(text)
        return found

    return zone


def local_zone(call: Call) -> TimeZone:
    """Return the time zone in which the fields of the call's last argument are computed."""
    return TimeZone(call.fields["timeZoneId"] if call.args[-1].type.kind == "timestamp" else "UTC")


_FIELDS: dict[str, Callable[[Any], Any]] = {
    "Hour": lambda time: time // (3600 * SECOND),
    "Minute": lambda time: time % (3600 * SECOND) // (60 * SECOND),
    "Second": lambda time: time % (60 * SECOND) // SECOND,
}

for _name in _FIELDS:

    @function(_name, _MOMENT)
    def _field(call: Call, settings: ExpressionSettings) -> Kernel:
        zone, compute = local_zone(call), _FIELDS[call.name]
        return number_kernel(lambda micros: compute(zone.local_times(micros)[1]), pa.int32(), read=numbers_or_zero)


@function("SecondWithFraction", _MOMENT)
def _second_with_fraction(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the seconds of the minute with six fraction digits."""
    zone = local_zone(call)

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        data, words = new_words(rows)
        words[:, 0] = zone.local_times(numbers_or_zero(array))[1] % (60 * SECOND)
        words[:, 1] = 0
        return decimal_array(call.type.arrow, rows, validity_of([array]), data)

    return Kernel(run=run)


_TO_UNIX = {"UnixSeconds": SECOND, "UnixMillis": 1000, "UnixMicros": 1}

for _name in _TO_UNIX:

    @function(_name, [case(["timestamp"])])
    def _to_unix(call: Call, settings: ExpressionSettings) -> Kernel:
        unit = _TO_UNIX[call.name]
        return number_kernel(lambda micros: micros // unit, pa.int64())


for _name in ("UnixTimestamp", "ToUnixTimestamp"):

    @function(_name, [case(["timestamp"], ["string"], literal=[1])])
    def _unix_timestamp(call: Call, settings: ExpressionSettings) -> Kernel:
        """Return the seconds of a timestamp, rounded toward 1970; the format is that of strings."""
        return number_kernel(lambda micros: (micros + (micros < 0) * (SECOND - 1)) // SECOND, pa.int64())


@function("MicrosToTimestamp", [case(INTEGRAL)])
def _from_micros(call: Call, settings: ExpressionSettings) -> Kernel:
    return number_kernel(lambda micros: micros, call.type.arrow)


@function("SecondsToTimestamp", [case(["tinyint", "smallint", "int"])])
def _from_seconds(call: Call, settings: ExpressionSettings) -> Kernel:
    return number_kernel(lambda seconds: seconds * np.int64(SECOND), call.type.arrow)


@function("MillisToTimestamp", [case(["tinyint", "smallint", "int"])])
def _from_millis(call: Call, settings: ExpressionSettings) -> Kernel:
    return number_kernel(lambda millis: millis * np.int64(1000), call.type.arrow)


_UNITS_OF_LONGS = {"SecondsToTimestamp": ("seconds", SECOND), "MillisToTimestamp": ("milliseconds", 1000)}

for _name in _UNITS_OF_LONGS:

    @function(_name, [case(["bigint"])])
    def _from_long(call: Call, settings: ExpressionSettings) -> Kernel:
        """Raise for a number beyond the range of timestamps."""
        name, unit = _UNITS_OF_LONGS[call.name]
        most = _LARGEST_LONG // unit

        def convert(data: Any) -> Any:
            is_beyond = (data > most) | (data < -most)
            if is_beyond.any():
                if settings.names_timestamp:
                    raise conditions.no_timestamp(f"{data[np.argmax(is_beyond)]}L", name)
                raise conditions.timestamp_overflow()
            return data * np.int64(unit)

        return number_kernel(convert, call.type.arrow, read=numbers_or_zero, can_raise=True)


@function("SecondsToTimestamp", [case(FLOATING)])
def _from_fractions(call: Call, settings: ExpressionSettings) -> Kernel:
    """Cut off below a microsecond, end at the first and last timestamp; NULL for NaN and infinities."""

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        data: Any = numbers_or_zero(array)
        known = np.isfinite(data) & valid_flags(validity_of([array]), rows)
        with np.errstate(all="ignore"):
            micros = np.where(known, data.astype(np.float64) * SECOND, 0)
        is_late, is_early = micros >= 2.0**63, micros < -(2.0**63)
        found = np.where(is_late | is_early, 0, micros).astype(np.int64)
        found[is_late], found[is_early] = _LARGEST_LONG, -_LARGEST_LONG - 1
        return from_numbers(found, call.type.arrow, pack_flags(known))

    return Kernel(run=run)


@function("SecondsToTimestamp", [case(["decimal"])])
def _from_decimal(call: Call, settings: ExpressionSettings) -> Kernel:
    """Raise for a fraction of a microsecond, and beyond the range of timestamps."""
    type_ = call.args[0].type
    if type_.scale <= 6 and type_.precision - type_.scale <= 12:
        factor = np.int64(10 ** (6 - type_.scale))
        return number_kernel(lambda words: words[:, 0] * factor, call.type.arrow, read=lambda array: words_of(array)[0])

    def convert(seconds: Decimal) -> int:
        micros = seconds.scaleb(6, _EXACT)
        if settings.names_timestamp and not -_LARGEST_LONG - 1 <= micros <= _LARGEST_LONG:
            raise conditions.no_timestamp(f"{seconds:f}BD", "seconds")
        if micros.adjusted() >= 19 and micros:
            raise conditions.java_error("ArithmeticException", "Overflow")
        whole = int(micros)
        if whole != micros:
            raise conditions.java_error("ArithmeticException", "Rounding necessary")
        if not -_LARGEST_LONG - 1 <= whole <= _LARGEST_LONG:
            raise conditions.java_error("ArithmeticException", "Overflow")
        return whole

    factor = 10 ** (6 - type_.scale) if type_.scale <= 6 and type_.precision <= 18 else 0

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        if factor:
            words = np.where(valid_flags(validity_of([array]), rows), words_of(array)[0][:, 0], 0)
            if not rows or int(np.abs(words).max()) <= _LARGEST_LONG // factor:
                return from_numbers(words * np.int64(factor), call.type.arrow, validity_of([array]))
        return map_distinct(array, convert, pa.int64()).view(call.type.arrow)

    return Kernel(run=run, can_raise=True)


_DAY = 86_400 * SECOND
_UNITS = {
    "MICROSECOND": 1, "MILLISECOND": 1000, "SECOND": SECOND, "MINUTE": 60 * SECOND, "HOUR": 3600 * SECOND,
    "DAY": _DAY, "DD": _DAY,
}  # fmt: skip
_LEVELS = "(?i)" + "|".join([*_UNITS, "WEEK", *MONTH_LEVELS])


@function("TruncTimestamp", [case(["string"], ["timestamp"], matches={"0": _LEVELS})])
def _trunc_timestamp(call: Call, settings: ExpressionSettings) -> Kernel:
    level = str(constants(call.args[:1])[0]).upper()
    unit = _UNITS.get(level, 0)
    if not unit and level != "WEEK" and level not in MONTH_LEVELS:
        return Kernel(run=lambda values, rows: pa.scalar(None, call.type.arrow))

    def truncate(zone: TimeZone, micros: Any) -> Any:
        if 0 < unit <= SECOND:
            start = micros - micros % unit
            if settings.checks_truncation and (start > micros).any():
                raise conditions.timestamp_overflow()
            return start
        if unit:
            return zone.truncated(micros, unit // SECOND)
        return zone.start_of_days(truncated_days(zone.local_days(micros), level))

    return zone_kernel(call, truncate, can_raise=settings.checks_truncation or not 0 < unit <= SECOND)


by_constants(
    "TruncTimestamp", [case(["string"], ["timestamp"])], [0], otherwise=_trunc_timestamp, can_raise=True
)

_SHIFTS: dict[str, Callable[[TimeZone, Any], Any]] = {
    "FromUTCTimestamp": lambda zone, micros: zone.local_micros(micros),
    "ToUTCTimestamp": lambda zone, micros: zone.instants(micros),
}

for _name in _SHIFTS:

    @function(_name, [case(["timestamp"], ["string"], matches={"1": ANY_TEXT})])
    def _shift(call: Call, settings: ExpressionSettings) -> Kernel:
        """Read a timestamp as the local time of UTC in the zone, or the reverse."""
        zone, shift = named_zone(str(constants(call.args[1:])[0])), _SHIFTS[call.name]
        return number_kernel(lambda micros: shift(zone(), micros), call.type.arrow, 0, numbers_or_zero, can_raise=True)

    by_constants(_name, [case(["timestamp"], ["string"])], [1], can_raise=True)


@function("ConvertTimezone", [case(["string"], ["string"], ["timestamp_ntz"], matches={"0": ANY_TEXT, "1": ANY_TEXT})])
def _convert_timezone(call: Call, settings: ExpressionSettings) -> Kernel:
    """Read a local timestamp in one zone and return the local time in another."""
    source, target = (named_zone(str(name)) for name in constants(call.args[:2]))

    def convert(micros: Any) -> Any:
        return target().local_micros(source().instants(micros))

    return number_kernel(convert, call.type.arrow, 2, numbers_or_zero, can_raise=True)


by_constants("ConvertTimezone", [case(["string"], ["string"], ["timestamp_ntz"])], [0, 1], can_raise=True)


def _round_half_up(data: Any) -> Any:
    """Round as Java's Math.round: a tie goes up."""
    whole = np.floor(data)
    return whole + (data - whole >= 0.5)


@function("MonthsBetween", [case(["timestamp"], ["timestamp"], ["boolean"], literal=[2])])
def _months_between(call: Call, settings: ExpressionSettings) -> Kernel:
    """Count months, of 31 days for a remainder; whole months if both are the same day or the last of their months."""
    zone = TimeZone(call.fields["timeZoneId"])
    (rounded,) = constants(call.args[2:])
    if rounded is None:
        return Kernel(run=lambda values, rows: pa.scalar(None, pa.float64()))

    def run(values: Sequence[Value], rows: int) -> Value:
        arrays = [to_array(value, rows) for value in values[:2]]
        months, days, seconds, is_last = zip(*(_parts(zone, array) for array in arrays), strict=True)
        difference = (months[0] - months[1]).astype(np.float64)
        whole = (days[0] == days[1]) | (is_last[0] & is_last[1])
        apart = (days[0] - days[1]) * 86_400 + seconds[0] - seconds[1]
        exact = difference + apart / (31 * 86_400.0)
        if rounded:
            exact = _round_half_up(exact * 1e8) / 1e8
        return from_numbers(np.where(whole, difference, exact), pa.float64(), validity_of(arrays))

    return Kernel(run=run, can_raise=True)


def _parts(zone: TimeZone, array: pa.Array) -> tuple[Any, Any, Any, Any]:
    """Return the months since year 0, the day, the seconds since midnight, and whether it is the month's last day."""
    micros = numbers_or_zero(array)
    days = zone.local_days(micros)
    year, month, day = civil_from_days(days)
    seconds = (micros - zone.start_of_days(days)) // SECOND
    return year * 12 + month, day, seconds, days == last_days(days)
