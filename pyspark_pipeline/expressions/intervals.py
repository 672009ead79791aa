"""Arithmetic of dates and timestamps with intervals (Spark: datetimeExpressions.scala, intervalExpressions.scala).

A day-time interval is a number of microseconds, a year-month interval one of months.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.cases import DAY_TIME, YEAR_MONTH
from pyspark_pipeline.expressions.dates import civil_from_days, plus_months
from pyspark_pipeline.expressions.registry import INTEGRAL, Case, ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.time_zones import TimeZone, added
from pyspark_pipeline.expressions.values import from_numbers, number_kernel, numbers_or_zero, to_array
from pyspark_pipeline.kernels.decimal_words import decimal_array, new_words, valid_flags, validity_of
from pyspark_pipeline.plan.expr import Call

_DAY = 86_400_000_000
_HOUR = 3_600_000_000
_MINUTE = 60_000_000


def _moment_and(interval: str) -> list[Case]:
    return [case(["timestamp"], [interval]), case(["timestamp_ntz"], [interval])]


def _binary(call: Call, compute: Callable[[Any, Any], Any]) -> Kernel:
    """Build a kernel of int64 results from two arguments, int64 arrays with 0 for NULL."""

    def run(values: Sequence[Value], rows: int) -> Value:
        arrays = [to_array(value, rows) for value in values]
        left, right = (numbers_or_zero(array).astype(np.int64) for array in arrays)
        return from_numbers(compute(left, right), call.type.arrow, validity_of(arrays))

    return Kernel(run=run, can_raise=True)


def _zone(call: Call, argument: int = 0) -> TimeZone:
    """Return the time zone of a timestamp argument: UTC if it is local."""
    return TimeZone(call.fields["timeZoneId"] if call.args[argument].type.kind == "timestamp" else "UTC")


def _divided(micros: Any, unit: int) -> tuple[Any, Any]:
    """Divide as Java: the quotient is rounded toward zero, the remainder has the sign of ``micros``."""
    remainder = np.fmod(micros, unit)
    return (micros - remainder) // unit, remainder


@function("TimestampAddInterval", _moment_and(DAY_TIME))
def _add_day_time(call: Call, settings: ExpressionSettings) -> Kernel:
    zone = _zone(call)
    return _binary(call, lambda micros, interval: zone.plus(micros, *_divided(interval, _DAY)))


@function("TimestampAddInterval(CalendarInterval)", [
    case(["timestamp"], ["int"], ["int"], ["bigint"]),
    case(["timestamp_ntz"], ["int"], ["int"], ["bigint"]),
])  # fmt: skip
def _add_calendar_interval(call: Call, settings: ExpressionSettings) -> Kernel:
    """Add months, days and microseconds, each to the local time that the one before results in."""
    zone = _zone(call)

    def run(values: Sequence[Value], rows: int) -> Value:
        arrays = [to_array(value, rows) for value in values]
        micros, months, days, rest = (numbers_or_zero(array).astype(np.int64) for array in arrays)
        later = zone.plus_months(micros, months) if months.any() else micros
        return from_numbers(zone.plus(later, days, rest), call.type.arrow, validity_of(arrays))

    return Kernel(run=run, can_raise=True)


@function("TimestampAddYMInterval", _moment_and(YEAR_MONTH))
def _add_year_month(call: Call, settings: ExpressionSettings) -> Kernel:
    zone = _zone(call)
    return _binary(call, zone.plus_months)


@function("DateAddYMInterval", [case(["date"], [YEAR_MONTH])])
def _add_months_to_date(call: Call, settings: ExpressionSettings) -> Kernel:
    return plus_months()


@function("SubtractTimestamps", [
    case(["timestamp"], ["timestamp"], fields={"legacyInterval": ["false"]}),
    case(["timestamp_ntz"], ["timestamp_ntz"], fields={"legacyInterval": ["false"]}),
])  # fmt: skip
def _subtract_timestamps(call: Call, settings: ExpressionSettings) -> Kernel:
    zone = _zone(call)

    return _binary(call, lambda end, start: _units_between(zone, start, end, 1))


def _units_between(zone: TimeZone, start: Any, end: Any, unit: int) -> Any:
    """Count whole units, of ``unit`` microseconds, at most a day, between the local times of instants."""
    days, rest = _between(zone, start, end)
    per_day = _DAY // unit
    if (np.abs(days) > np.iinfo(np.int64).max // per_day).any():
        raise conditions.timestamp_overflow()
    return added(days * per_day, _divided(rest, unit)[0])


def _between(zone: TimeZone, start: Any, end: Any) -> tuple[Any, Any]:
    """Return whole days and the rest in microseconds, of one sign, between the local times of instants."""
    (first, since), (last, until) = zone.local_times(start), zone.local_times(end)
    days, rest = last - first, until - since
    borrowed = np.where(rest < 0, (days > 0) * -1, (rest > 0) & (days < 0))
    return days + borrowed, rest - borrowed * _DAY


@function("SubtractDates", [case(["date"], ["date"], result=[DAY_TIME])])
def _subtract_dates(call: Call, settings: ExpressionSettings) -> Kernel:
    def subtract(end: Any, start: Any) -> Any:
        days = end - start
        if (np.abs(days) > np.iinfo(np.int64).max // _DAY).any():
            raise conditions.timestamp_overflow()
        return days * _DAY

    return _binary(call, subtract)


#: The results of extractions: of micros, or of months.
_PARTS: dict[str, Callable[[Any], Any]] = {
    "ExtractANSIIntervalDays": lambda micros: _divided(micros, _DAY)[0],
    "ExtractANSIIntervalHours": lambda micros: _divided(_divided(micros, _DAY)[1], _HOUR)[0],
    "ExtractANSIIntervalMinutes": lambda micros: _divided(_divided(micros, _HOUR)[1], _MINUTE)[0],
    "ExtractANSIIntervalYears": lambda months: _divided(months, 12)[0],
    "ExtractANSIIntervalMonths": lambda months: _divided(months, 12)[1],
}

for _name in _PARTS:

    @function(_name, [case([YEAR_MONTH if _name.endswith(("Years", "Months")) else DAY_TIME])])
    def _part(call: Call, settings: ExpressionSettings) -> Kernel:
        return number_kernel(_PARTS[call.name], call.type.arrow)


@function("ExtractANSIIntervalSeconds", [case([DAY_TIME])])
def _seconds(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return seconds with their fraction, a decimal(8,6)."""

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        micros = _divided(numbers_or_zero(array), _MINUTE)[1]
        data, words = new_words(rows)
        words[:, 0], words[:, 1] = micros, micros >> 63
        return decimal_array(call.type.arrow, rows, validity_of([array]), data)

    return Kernel(run=run)


@function("UnaryMinus", [case([DAY_TIME]), case([YEAR_MONTH])])
def _negate(call: Call, settings: ExpressionSettings) -> Kernel:
    def negate(data: Any) -> Any:
        if (data == np.iinfo(data.dtype).min).any():
            raise conditions.interval_error("")
        return -data

    return number_kernel(negate, call.type.arrow, 0, numbers_or_zero, can_raise=True)


@function("Abs", [case([DAY_TIME]), case([YEAR_MONTH])])
def _abs(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the interval without its sign; the smallest raises, in every mode and without a query context."""
    kind = "bigint" if call.type.kind == DAY_TIME else "int"

    def compute(data: Any) -> Any:
        if (data == np.iinfo(data.dtype).min).any():
            raise conditions.arithmetic_overflow(kind, "", -1)
        return np.abs(data)

    return number_kernel(compute, call.type.arrow, 0, numbers_or_zero, can_raise=True)


@function("Signum", [case([DAY_TIME]), case([YEAR_MONTH])])
def _signum(call: Call, settings: ExpressionSettings) -> Kernel:
    return number_kernel(lambda data: np.sign(data).astype(np.float64), pa.float64())


for _name, _kind in (("MultiplyDTInterval", DAY_TIME), ("MultiplyYMInterval", YEAR_MONTH)):

    @function(_name, [case([_kind], INTEGRAL)])
    def _multiply(call: Call, settings: ExpressionSettings) -> Kernel:
        limits = np.iinfo(np.int64 if call.type.kind == DAY_TIME else np.int32)

        def run(values: Sequence[Value], rows: int) -> Value:
            arrays = [to_array(value, rows) for value in values]
            left, right = (numbers_or_zero(array).astype(np.int64) for array in arrays)
            found = left * right
            # The float product is off by a few units at most.
            if (np.abs(left.astype(np.float64) * right) > float(limits.max) * (1 - 1e-9)).any():
                exact = [int(a) * int(b) for a, b in zip(left.tolist(), right.tolist(), strict=True)]
                inside = np.array([limits.min <= value <= limits.max for value in exact])
                if (valid_flags(validity_of(arrays), rows) & ~inside).any():
                    raise conditions.java_overflow(call.type.kind == DAY_TIME)
                found = np.array([value if fits else 0 for value, fits in zip(exact, inside, strict=True)], np.int64)
            return from_numbers(found.astype(limits.dtype), call.type.arrow, validity_of(arrays))

        return Kernel(run=run, can_raise=True)


#: Units of a time in microseconds, and of a date in months.
_TIMES = {
    "MICROSECOND": 1, "MILLISECOND": 1000, "SECOND": 1_000_000, "MINUTE": _MINUTE, "HOUR": _HOUR, "DAY": _DAY,
    "WEEK": 7 * _DAY,
}  # fmt: skip
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_UNITS = [name for unit in (*_TIMES, *_MONTHS) for name in (unit, unit.lower())]


@function("TimestampDiff", [case(["timestamp"], ["timestamp"], fields={"unit": _UNITS})])
def _timestamp_diff(call: Call, settings: ExpressionSettings) -> Kernel:
    """Count the whole units from the first to the second local time."""
    zone, unit = _zone(call), str(call.fields["unit"]).upper()

    def count(start: Any, end: Any) -> Any:
        if unit in _MONTHS:
            return _divided(_months_between(zone, start, end), _MONTHS[unit])[0]
        if _TIMES[unit] > _DAY:
            return _divided(_between(zone, start, end)[0], _TIMES[unit] // _DAY)[0]
        return _units_between(zone, start, end, _TIMES[unit])

    return _binary(call, count)


def _months_between(zone: TimeZone, start: Any, end: Any) -> Any:
    """Count the whole months between the local times of instants."""
    (first, since), (last, until) = zone.local_times(start), zone.local_times(end)
    last = last - ((last > first) & (until < since)) + ((last < first) & (until > since))
    packed = []
    for days in (first, last):
        year, month, day = civil_from_days(days)
        packed.append((year * 12 + month) * 32 + day)
    return _divided(packed[1] - packed[0], 32)[0]


@function("TimestampAdd", [
    case(["int", "bigint"], ["timestamp"], fields={"unit": _UNITS}),
    case(["int", "bigint"], ["timestamp_ntz"], fields={"unit": _UNITS}),
])  # fmt: skip
def _timestamp_add(call: Call, settings: ExpressionSettings) -> Kernel:
    zone, unit = _zone(call, argument=1), str(call.fields["unit"]).upper()
    scale = _MONTHS.get(unit) or _TIMES[unit]
    largest = np.iinfo(np.int32 if unit in _MONTHS else np.int64).max // scale

    def add(quantity: Any, micros: Any) -> Any:
        if (np.abs(quantity) > largest).any():
            raise conditions.timestamp_overflow()
        if unit in _MONTHS:
            return zone.plus_months(micros, quantity * scale)
        if scale < _DAY:
            return added(micros, quantity * scale)
        return zone.plus(micros, quantity * (scale // _DAY), np.int64(0))

    def checked(quantity: Any, micros: Any) -> Any:
        try:
            return add(quantity, micros)
        except SparkConditionError:
            raise conditions.datetime_overflow(_first_overflow(quantity, micros)) from None

    def _first_overflow(quantity: Any, micros: Any) -> str:
        for row in range(len(micros)):
            try:
                add(quantity[row : row + 1], micros[row : row + 1])
            except SparkConditionError:
                days, time = (int(part[0]) for part in zone.local_times(micros[row : row + 1]))
                return f"add {quantity[row]}L {call.fields['unit']} to TIMESTAMP '{shown_timestamp(days, time)}'"
        raise AssertionError("no row overflows")

    return _binary(call, checked)


def shown_timestamp(days: int, time: int) -> str:
    """Format a local timestamp as Spark shows it."""
    year, month, day = (int(part[0]) for part in civil_from_days(np.array([days])))
    seconds, micros = divmod(time, 1_000_000)
    fraction = f".{micros:06d}".rstrip("0") if micros else ""
    sign = "+" if year > 9999 else ""
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{sign}{year:04d}-{month:02d}-{day:02d} {clock}{fraction}"
