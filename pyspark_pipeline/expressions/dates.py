"""Dates: fields of a date and arithmetic in days and months on the proleptic Gregorian calendar.

Spark: datetimeExpressions.scala, DateTimeUtils. A date is its days since 1970-01-01; any 32-bit number of
days is a date; the functions of Arrow and numpy agree with java.time also beyond year 9999.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.by_constants import by_constants
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.values import from_numbers, number_kernel, numbers, to_array
from pyspark_pipeline.kernels import civil
from pyspark_pipeline.kernels.arrays import Array, Int32Array, Int64Array
from pyspark_pipeline.kernels.decimal_words import valid_flags, validity_of
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.plan.expr import Call, constants

_DATE = [case(["date"])]
_DAYS = ["tinyint", "smallint", "int"]


def civil_from_days(days: Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Split days since 1970-01-01 into (year, month 1-12, day 1-31)."""
    year, month, day = (np.empty(len(days), dtype=np.int64) for _ in range(3))
    civil.split_all(days, year, month, day)
    return year, month, day


def last_days(days: Array) -> Int64Array:
    """Return the last days of the months of dates."""
    out = np.empty(len(days), dtype=np.int64)
    civil.last_days(frozen(days), out)
    return out


def _field(field: int) -> Callable[[Call, ExpressionSettings], Kernel]:
    """Return the builder of the function that extracts one field of a date."""

    def fields(days: Int32Array) -> Int32Array:
        out = np.empty(len(days), dtype=np.int32)
        civil.date_fields(days, field, out)
        return out

    return lambda call, settings: number_kernel(fields, pa.int32())


for _name, _number in (
    ("Year", civil.YEAR),
    ("Month", civil.MONTH),
    ("DayOfMonth", civil.DAY),
    ("Quarter", civil.QUARTER),
):
    function(_name, _DATE)(_field(_number))


@function("DayOfYear", _DATE)
def _day_of_year(call: Call, settings: ExpressionSettings) -> Kernel:
    return number_kernel(lambda days: days - truncated_days(days, "YEAR") + 1, pa.int32())


@function("DayOfWeek", _DATE)
def _day_of_week(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the day of the week: 1 = Sunday; 1970-01-01 was a Thursday."""
    return number_kernel(lambda days: (days.astype(np.int64) + 4) % 7 + 1, pa.int32())


@function("WeekDay", _DATE)
def _week_day(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the day of the week: 0 = Monday."""
    return number_kernel(lambda days: (days.astype(np.int64) + 3) % 7, pa.int32())


def _shift(sign: int) -> Kernel:
    """Add or subtract days; the sum wraps around, as Spark's does."""

    def run(values: Sequence[Value], rows: int) -> Value:
        arrays = [to_array(value, rows) for value in values]
        start, days = (numbers(array).astype(np.int32, copy=False) for array in arrays)
        moved = np.add(start, days) if sign > 0 else np.subtract(start, days)
        return from_numbers(moved, pa.date32(), validity_of(arrays))

    return Kernel(run=run)


@function("DateAdd", [case(["date"], _DAYS)])
def _date_add(call: Call, settings: ExpressionSettings) -> Kernel:
    return _shift(1)


@function("DateSub", [case(["date"], _DAYS)])
def _date_sub(call: Call, settings: ExpressionSettings) -> Kernel:
    return _shift(-1)


@function("DateDiff", [case(["date"], ["date"])])
def _date_diff(call: Call, settings: ExpressionSettings) -> Kernel:
    def run(values: Sequence[Value], rows: int) -> Value:
        arrays = [to_array(value, rows) for value in values]
        end, start = (numbers(array) for array in arrays)
        return from_numbers(np.subtract(end, start), pa.int32(), validity_of(arrays))

    return Kernel(run=run)


@function("AddMonths", [case(["date"], ["int"])])
def _add_months(call: Call, settings: ExpressionSettings) -> Kernel:
    return plus_months()


def plus_months() -> Kernel:
    """Build the kernel that adds months, int32, to dates."""

    def run(values: Sequence[Value], rows: int) -> Value:
        arrays = [to_array(value, rows) for value in values]
        validity = validity_of(arrays)
        moved = np.empty(rows, dtype=np.int64)
        civil.plus_months(*(numbers(array) for array in arrays), moved)
        if bool((valid_flags(validity, rows) & (moved != moved.astype(np.int32))).any()):
            raise conditions.arithmetic_overflow("int", "", -1)
        return from_numbers(moved.astype(np.int32), pa.date32(), validity)

    return Kernel(run=run, can_raise=True)


@function("LastDay", _DATE)
def _last_day(call: Call, settings: ExpressionSettings) -> Kernel:
    return number_kernel(last_days, pa.date32())


#: The levels of truncation to months, by their names, in months.
MONTH_LEVELS = {
    **dict.fromkeys(("MON", "MONTH", "MM"), 1),
    "QUARTER": 3,
    **dict.fromkeys(("YEAR", "YYYY", "YY"), 12),
}
_LEVEL_PATTERN = "(?i)" + "|".join(["WEEK", *MONTH_LEVELS])


def truncated_days(days: Array, level: str) -> Int64Array:
    """Return the first days of weeks (Mondays), or of the months, quarters or years of ``MONTH_LEVELS``: int64."""
    if level == "WEEK":
        return days - (days.astype(np.int64) + 3) % 7
    out = np.empty(len(days), dtype=np.int64)
    civil.first_days(frozen(days), MONTH_LEVELS[level], out)
    return out


@function("TruncDate", [case(["date"], ["string"], literal=[1], matches={"1": _LEVEL_PATTERN})])
def _trunc_date(call: Call, settings: ExpressionSettings) -> Kernel:
    """Truncate to the first day of the week (Monday), month, quarter or year."""
    level = str(constants(call.args[1:])[0]).upper()
    if level != "WEEK" and level not in MONTH_LEVELS:
        return Kernel(run=lambda values, rows: pa.scalar(None, pa.date32()))
    return number_kernel(lambda days: truncated_days(days, level), pa.date32())


by_constants("TruncDate", [case(["date"], ["string"])], [1], otherwise=_trunc_date)


@function("UnixDate", _DATE)
def _unix_date(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: to_array(values[0], rows).view(pa.int32()))


@function("DateFromUnixDate", [case(["int"])])
def _date_from_unix_date(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: to_array(values[0], rows).view(pa.date32()))


def _thursday(days: Any) -> Any:
    """Return the Thursday of the week (Monday to Sunday), whose year is that of the week."""
    days = days.astype(np.int64)
    return days - (days + 3) % 7 + 3


@function("WeekOfYear", _DATE)
def _week_of_year(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the ISO week of the year."""

    def compute(days: Any) -> Any:
        thursday = _thursday(days)
        return (thursday - truncated_days(thursday, "YEAR")) // 7 + 1

    return number_kernel(compute, pa.int32())


@function("YearOfWeek", _DATE)
def _year_of_week(call: Call, settings: ExpressionSettings) -> Kernel:
    return number_kernel(lambda days: civil_from_days(_thursday(days))[0], pa.int32())


FULL_MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
FULL_DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTH_NAMES, DAY_NAMES = (tuple(name[:3] for name in names) for names in (FULL_MONTH_NAMES, FULL_DAY_NAMES))


def _named(names: Sequence[str], number: Callable[[Any], Any]) -> Kernel:
    """Build a kernel that returns the name with the number of a date, counted from 0."""
    dictionary = pa.array(names)

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        codes = from_numbers(number(numbers(array)).astype(np.int32), pa.int32(), validity_of([array]))
        return pa.DictionaryArray.from_arrays(codes, dictionary)

    return Kernel(run=run)


@function("MonthName", _DATE)
def _month_name(call: Call, settings: ExpressionSettings) -> Kernel:
    return _named(MONTH_NAMES, lambda days: civil_from_days(days)[1] - 1)


@function("DayName", _DATE)
def _day_name(call: Call, settings: ExpressionSettings) -> Kernel:
    return _named(DAY_NAMES, lambda days: (days.astype(np.int64) + 3) % 7)


_DAY_NUMBERS = {
    name.upper()[:letters]: number for number, name in enumerate(FULL_DAY_NAMES) for letters in (2, 3, len(name))
}
_DAY_PATTERN = "(?i)" + "|".join(_DAY_NUMBERS)


@function("NextDay", [case(["date"], ["string"], matches={"1": _DAY_PATTERN})])
def _next_day(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the first date after the given one that is this day of the week."""
    (name,) = constants(call.args[1:])
    wanted = _DAY_NUMBERS.get(name.upper())
    if wanted is None:
        return _no_day(name, call.fields["failOnError"])
    return number_kernel(lambda days: days + np.int64(1) + (wanted - (days + np.int64(4)) % 7) % 7, pa.date32())


def _no_day(name: str, raises: bool) -> Kernel:
    """Build the kernel of a text that is not a day of the week: it raises, or returns NULL."""

    def run(values: Sequence[Value], rows: int) -> Value:
        if raises and to_array(values[0], rows).null_count < rows:
            raise conditions.illegal_day_of_week(name)
        return pa.scalar(None, pa.date32())

    return Kernel(run=run, can_raise=raises)


by_constants("NextDay", [case(["date"], ["string"])], [1], otherwise=_next_day, can_raise=True)
