"""Rounding: floor, ceil, round, bround of doubles, integers and decimals (Spark: mathExpressions.scala)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.cast_numeric import saturate
from pyspark_pipeline.expressions.registry import INTEGRAL, ExpressionSettings, Kernel, case, function
from pyspark_pipeline.expressions.values import number_kernel, numbers_or_zero, to_array
from pyspark_pipeline.kernels.decimal_fast import DOWN, HALF_EVEN, HALF_UP, UP, round_words
from pyspark_pipeline.kernels.decimal_words import decimal_array, new_words, validity_of, words_of
from pyspark_pipeline.plan.expr import Call, constants

_TO_WHOLE: dict[str, tuple[Callable[[Any], Any], int]] = {"Floor": (np.floor, DOWN), "Ceil": (np.ceil, UP)}
_MODES = {"Round": HALF_UP, "BRound": HALF_EVEN, "RoundFloor": DOWN, "RoundCeil": UP}
_WIDE_MODES = {HALF_UP: "half_towards_infinity", HALF_EVEN: "half_to_even", DOWN: "down", UP: "up"}


def _round_decimals(array: pa.Array, scale: int, mode: int, target: pa.DataType) -> pa.Array:
    """Round decimals to ``scale`` fraction digits (negative: to tens, hundreds, …); ``target`` holds every result."""
    dropped = array.type.scale - scale
    if dropped <= 0:
        return array.cast(target)
    if 0 < dropped <= 18 and scale >= -18 and target.scale == max(scale, 0):
        factor = 10 ** max(-scale, 0)
        buffer, out = new_words(len(array))
        if round_words(words_of(array)[0], 10**dropped, factor, (2**63 - 1) // factor, mode, out):
            return decimal_array(target, len(array), validity_of([array]), buffer)
    wide = array.cast(pa.decimal256(76, array.type.scale))
    return pc.round(wide, ndigits=scale, round_mode=_WIDE_MODES[mode]).cast(target)


for _name in _TO_WHOLE:

    @function(_name, [case(["double"], result=["bigint"])])
    def _whole_double(call: Call, settings: ExpressionSettings) -> Kernel:
        """Return a whole number; outside bigint it raises in Spark 4.3 (``failOnError``), else it is the limit."""
        whole, _ = _TO_WHOLE[call.name]
        raises = bool(call.fields.get("failOnError", False))

        def compute(data: Any) -> Any:
            found = whole(data)
            if raises and ((found >= 2.0**63) | (found < -(2.0**63))).any():
                raise conditions.arithmetic_overflow("bigint", "", call.context)
            return saturate(found, np.int64)

        return number_kernel(compute, pa.int64(), read=numbers_or_zero, can_raise=raises)

    @function(_name, [case(["bigint"], result=["bigint"])])
    def _whole_long(call: Call, settings: ExpressionSettings) -> Kernel:
        return Kernel(run=lambda values, rows: values[0])

    @function(_name, [case(["decimal"], result=["decimal"])])
    def _whole_decimal(call: Call, settings: ExpressionSettings) -> Kernel:
        _, mode = _TO_WHOLE[call.name]
        target = call.type.arrow
        return Kernel(run=lambda values, rows: _round_decimals(to_array(values[0], rows), 0, mode, target))


#: The result has one digit more than the argument where Spark allows 38, so it never overflows below that.
#: Rounding to tens of 38 digits may need 39.
_DECIMAL = [
    case(["decimal"], ["int"], result=["decimal"], matches={"1": r"\d{1,2}"}),
    case(["decimal"], ["int"], result=["decimal"], max_precision=37, matches={"1": r"-\d{1,2}"}),
]

for _name in _MODES:

    @function(_name, _DECIMAL)
    def _round_decimal(call: Call, settings: ExpressionSettings) -> Kernel:
        (scale,) = constants(call.args[1:])
        mode, target = _MODES[call.name], call.type.arrow
        if scale >= call.args[0].type.scale:
            return Kernel(run=lambda values, rows: to_array(values[0], rows).cast(target))
        return Kernel(run=lambda values, rows: _round_decimals(to_array(values[0], rows), scale, mode, target))


for _name in ("Round", "BRound"):

    @function(_name, [case(INTEGRAL, ["int"], matches={"1": r"\d+"})])
    def _round_integer(call: Call, settings: ExpressionSettings) -> Kernel:
        return Kernel(run=lambda values, rows: values[0])


for _name in ("Round", "BRound"):

    @function(_name, [case(INTEGRAL, ["int"], matches={"1": r"-\d+"})])
    def _round_to_tens(call: Call, settings: ExpressionSettings) -> Kernel:
        """Round to tens, hundreds, …; a result outside the type wraps around, or raises in ANSI mode."""
        (scale,) = constants(call.args[1:])
        mode, raises = _MODES[call.name], bool(call.fields["ansiEnabled"])
        limits = np.iinfo(call.type.arrow.to_pandas_dtype())

        def compute(data: Any) -> Any:
            found, fits = _to_multiples(data.astype(np.int64), -scale, mode, limits)
            if raises and not fits.all():
                raise conditions.rounding_overflow(call.context)
            return found.astype(data.dtype)

        return number_kernel(compute, call.type.arrow, read=numbers_or_zero, can_raise=raises)


def _to_multiples(data: Any, digits: int, mode: int, limits: Any) -> tuple[Any, Any]:
    """Round int64 to multiples of a power of ten; return them, wrapped around, and whether they are within limits."""
    if digits > 19:
        return np.zeros_like(data), np.ones(len(data), dtype=np.bool_)
    unit = 10**digits
    if digits == 19:
        half = unit // 2
        ups = np.sign(data) * ((data > half) | (data < -half) | ((np.abs(data) == half) & (mode == HALF_UP)))
        return ups * np.int64(unit - 2**64), ups == 0
    quotient = data // unit
    rest = data - quotient * unit
    is_tie = rest == unit // 2
    ups = (rest > unit // 2) | (is_tie & ((data > 0) if mode == HALF_UP else (quotient % 2 == 1)))
    quotient = quotient + ups
    fits = (quotient <= int(limits.max) // unit) & (quotient >= -(-int(limits.min) // unit))
    with np.errstate(over="ignore"):
        return quotient * np.int64(unit), fits


@function("Rint", [case(["double"])])
def _rint(call: Call, settings: ExpressionSettings) -> Kernel:
    """Round to the nearest whole number, of two the even one."""
    return number_kernel(np.rint, pa.float64())
