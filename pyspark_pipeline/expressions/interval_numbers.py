"""Intervals of numbers and times numbers: construction, sums, products, quotients (Spark: intervalExpressions.scala).

A day-time interval is a number of microseconds, a year-month interval one of months. The quotients are rare, and
computed by one Python call per row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.arithmetic import divisor_checked
from pyspark_pipeline.expressions.cases import DAY_TIME, YEAR_MONTH
from pyspark_pipeline.expressions.per_value import per_row
from pyspark_pipeline.expressions.registry import FLOATING, INTEGRAL, ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.values import from_numbers, number_kernel, numbers_or_zero, to_array
from pyspark_pipeline.kernels.decimal_words import validity_of
from pyspark_pipeline.plan.eval_mode import mode_fields
from pyspark_pipeline.plan.expr import Call

_LIMITS: dict[str, Any] = {DAY_TIME: np.iinfo(np.int64), YEAR_MONTH: np.iinfo(np.int32)}
_DAY, _HOUR, _MINUTE = 86_400_000_000, 3_600_000_000, 60_000_000
#: Spark rounds the product of decimals to as many digits as a decimal may have.
_PRODUCT = Context(prec=38, rounding=ROUND_HALF_UP)
_EXACT = Context(prec=400, rounding=ROUND_HALF_UP)
_ONE, _LAST_PLACE = Decimal(1), Decimal(1).scaleb(-38)


def _within(call: Call, number: int, error: Callable[[], Exception]) -> int:
    """Return ``number``; raise ``error`` if it is no interval of the type of ``call``."""
    limits = _LIMITS[call.type.kind]
    if not limits.min <= number <= limits.max:
        raise error()
    return number


@function("MakeDTInterval", [case(["int"], ["int"], ["int"], ["decimal"], slower=True)])
def _make_day_time(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the interval of days, hours, minutes and seconds, decimal(18,6)."""

    def make(days: int, hours: int, minutes: int, seconds: Decimal) -> int:
        found = int(seconds.scaleb(6, _EXACT))
        for count, unit in ((days, _DAY), (hours, _HOUR), (minutes, _MINUTE)):
            found = _within(call, found + count * unit, lambda: conditions.interval_error("", call.context))
        return found

    return _raising(per_row(make, call.type.arrow))


@function("MakeYMInterval", [case(["int"], ["int"])])
def _make_year_month(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the interval of years and months."""

    def run(values: Sequence[Value], rows: int) -> Value:
        arrays = [to_array(value, rows) for value in values]
        years, months = (numbers_or_zero(array).astype(np.int64) for array in arrays)
        found: Any = years * 12 + months
        if (found != found.astype(np.int32)).any():
            raise conditions.interval_error("", call.context)
        return from_numbers(found.astype(np.int32), call.type.arrow, validity_of(arrays))

    return Kernel(run=run, can_raise=True)


_SUMS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "Add": (pc.add_checked, "try_add"),
    "Subtract": (pc.subtract_checked, "try_subtract"),
}

for _name in _SUMS:

    @function(_name, [case([kind], [kind]) for kind in (DAY_TIME, YEAR_MONTH)])
    def _sum(call: Call, settings: ExpressionSettings) -> Kernel:
        """Add or subtract; a result beyond the type raises in every mode."""
        compute, suggestion = _SUMS[call.name]

        def run(values: Sequence[Value], rows: int) -> Value:
            try:
                return compute(*values)
            except pa.ArrowInvalid:
                raise conditions.interval_error(suggestion) from None

        return Kernel(run=run, can_raise=True)


def _raising(kernel: Kernel) -> Kernel:
    return Kernel(run=kernel.run, can_raise=True)


def _nearest(call: Call, number: float) -> int:
    """Round half up, away from zero (Guava: DoubleMath.roundToLong)."""
    if not np.isfinite(number):
        raise conditions.java_error("ArithmeticException", "input is infinite or NaN")
    return _whole(call, Decimal(number))


def _overflow() -> Exception:
    return conditions.java_error("ArithmeticException", "Overflow")


def _whole(call: Call, number: Decimal) -> int:
    return _within(call, int(number.quantize(_ONE, context=_EXACT)), _overflow)


for _name, _kind in (("MultiplyDTInterval", DAY_TIME), ("MultiplyYMInterval", YEAR_MONTH)):

    @function(_name, [case([_kind], FLOATING, slower=True)])
    def _multiply_fraction(call: Call, settings: ExpressionSettings) -> Kernel:
        return _raising(per_row(lambda interval, number: _nearest(call, interval * number), call.type.arrow))

    @function(_name, [case([_kind], ["decimal"], slower=True)])
    def _multiply_decimal(call: Call, settings: ExpressionSettings) -> Kernel:
        def multiply(interval: int, number: Decimal) -> int:
            return _whole(call, _PRODUCT.multiply(Decimal(interval), number))

        return _raising(per_row(multiply, call.type.arrow))


def _halves_up(dividend: int, divisor: int) -> int:
    """Divide, rounded half up, away from zero (Guava: LongMath.divide)."""
    quotient, rest = divmod(abs(dividend), abs(divisor))
    quotient += 2 * rest >= abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


for _name, _kind in (("DivideDTInterval", DAY_TIME), ("DivideYMInterval", YEAR_MONTH)):

    @function(_name, [case([_kind], [*INTEGRAL, *FLOATING, "decimal"], slower=True)])
    def _divide(call: Call, settings: ExpressionSettings) -> Kernel:
        """Divide by a number that is not 0."""
        is_integral, is_floating = call.args[1].type.is_integral, call.args[1].type.is_floating

        def divide(interval: int, number: Any) -> int:
            if number == 0:
                raise conditions.interval_divided_by_zero(call.context)
            if is_integral:
                overflow = conditions.integral_divide_overflow(call.context)
                return _within(call, _halves_up(interval, number), lambda: overflow)
            if is_floating:
                return _nearest(call, interval / number)
            return _whole(call, _EXACT.divide(Decimal(interval), number).quantize(_LAST_PLACE, context=_EXACT))

        return _raising(per_row(divide, call.type.arrow))


def _truncated(dividend: Any, divisor: Any) -> Any:
    safe = np.where((divisor == 0) | (divisor == -1), np.ones(1, divisor.dtype), divisor)
    return np.where(divisor == -1, -dividend, (dividend - np.fmod(dividend, safe)) // safe)


@function("IntegralDivide", [
    case([kind], [kind], fields=mode_fields()) for kind in (DAY_TIME, YEAR_MONTH)
])  # fmt: skip
def _divide_intervals(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return how often one interval fits into another; the smallest by -1 wraps around."""

    def quotient(left: Value, right: Value, rows: int) -> Value:
        arrays = [to_array(left, rows), to_array(right, rows)]
        with np.errstate(all="ignore"):
            found = _truncated(*(numbers_or_zero(array) for array in arrays))
        return from_numbers(found.astype(np.int64), pa.int64(), validity_of(arrays))

    return divisor_checked(call, quotient, conditions.divide_by_zero)


#: The unit of the last field of an interval's type, and the rest that a cast to the type drops.
_YEARS, _ALL_MONTHS = ["interval year"], ["interval year to month", "interval month"]
_ANY_YEAR_MONTH = {"dataType": [*_YEARS, *_ALL_MONTHS]}


@function("Cast", [case([YEAR_MONTH], result=[YEAR_MONTH], fields=_ANY_YEAR_MONTH)])
def _months_to_type(call: Call, settings: ExpressionSettings) -> Kernel:
    """Drop the months if the type has only years."""
    if call.fields["dataType"] not in _YEARS:
        return Kernel(run=lambda values, rows: values[0])
    return number_kernel(lambda months: months - np.fmod(months, 12), call.type.arrow)


_ROUNDED = {"day": _DAY, "hour": _HOUR, "minute": _MINUTE}


@function("Cast", [case([DAY_TIME], result=[DAY_TIME])])
def _micros_to_type(call: Call, settings: ExpressionSettings) -> Kernel:
    """Drop what is smaller than the last field of the type."""
    unit = _ROUNDED.get(str(call.fields["dataType"]).split(" ")[-1])
    if unit is None:
        return Kernel(run=lambda values, rows: values[0])
    return number_kernel(lambda micros: micros - np.fmod(micros, unit), call.type.arrow)
