"""Casts from and to decimal (Spark: Cast.scala, Decimal.scala), and the optimizer's internal decimal functions.

A decimal that does not fit its new precision raises in ANSI mode and is NULL in the others; a smaller
scale rounds HALF_UP. A cast to an integer truncates the fraction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.cast_numeric import BITS, saturate
from pyspark_pipeline.expressions.registry import (
    FLOATING,
    INTEGRAL,
    ExpressionSettings,
    Kernel,
    Value,
    case,
    function,
)
from pyspark_pipeline.expressions.values import from_numbers, numbers, to_array
from pyspark_pipeline.kernels import decimal_fast, decimal_wide
from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array
from pyspark_pipeline.kernels.decimal_words import (
    EACH_ROW,
    ONE_ROW,
    decimal_array,
    join_words,
    new_words,
    pack_flags,
    valid_flags,
    validity_of,
    words_of,
)
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.plan.eval_mode import EvalMode
from pyspark_pipeline.plan.expr import Call

_INT64_MAX = 2**63 - 1
_ONE = frozen(np.array([[1, 0]], dtype=np.int64))
_ZERO = frozen(np.array([[0, 0]], dtype=np.int64))


class Rescale:
    """Converts unscaled words of one scale to a decimal type and reports the rows that do not fit."""

    def __init__(self, scale: int, target: DataType) -> None:
        self.target = target
        self.power = max(target.scale - scale, 0)
        self.drop = max(scale - target.scale, 0)

    def fast(self, words: Int64Array, out: Int64Array) -> bool:
        """Try the conversion in 64 bits; return whether it succeeded (see ``decimal_fast``)."""
        bound = min(10**self.target.precision, _INT64_MAX)
        if self.drop:
            return self.drop <= 18 and bool(decimal_fast.rescale_down(words, 10**self.drop, bound, out))
        if self.power > 17:
            return False
        limit = 2**62 // 10**self.power - 1
        return bool(
            decimal_fast.add_scaled(words, EACH_ROW, _ZERO, ONE_ROW, 10**self.power, 1, limit, limit, bound, out)
        )

    def words(self, words: Int64Array, out: Int64Array, valid: BoolArray) -> Any:
        """Fill ``out``; return flags of the rows that do not fit, None if all fit."""
        if self.fast(words, out):
            return None
        if not valid.all():
            words, _ = decimal_fast.zeroed(words, EACH_ROW, valid)
            if self.fast(words, out):
                return None
        status = np.empty(len(out), dtype=np.uint8)
        failures = decimal_wide.evaluate(
            decimal_wide.OP_ADD, words, EACH_ROW, self.power, _ZERO, ONE_ROW, 0, False,
            self.drop, self.target.precision, valid, decimal_wide.POWERS, out, status,
        )  # fmt: skip
        return status != 0 if failures else None


def _to_decimal(array: pa.Array, words: Int64Array, scale: int, call: Call, raises: bool) -> pa.Array:
    """Convert unscaled words to the decimal type of ``call``."""
    rows = len(array)
    validity = validity_of([array])
    valid = valid_flags(validity, rows)
    buffer, out = new_words(rows)
    failed = Rescale(scale, call.type).words(words, out, valid)
    if failed is not None:
        if raises:
            value = join_words(*words[int(np.flatnonzero(failed)[0])])
            raise conditions.decimal_out_of_range(value, scale, call.type, call.context)
        validity = pack_flags(valid & ~failed)
    return decimal_array(call.type.arrow, rows, validity, buffer)


def _decimal_to_decimal(call: Call, raises: bool) -> Kernel:
    source, target = call.args[0].type, call.type
    if source.scale == target.scale and source.precision <= target.precision:
        same = target.arrow

        def relabel(values: Sequence[Value], rows: int) -> Value:
            array = to_array(values[0], rows)
            buffers = array.buffers()
            return pa.Array.from_buffers(same, rows, buffers, array.null_count, array.offset)

        return Kernel(run=relabel)

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        return _to_decimal(array, words_of(array)[0], source.scale, call, raises)

    may_fail = target.precision - target.scale < source.precision - source.scale + (target.scale < source.scale)
    return Kernel(run=run, can_raise=raises and may_fail)


@function("Cast", [case(["decimal"], result=["decimal"])])
def _cast_decimal(call: Call, settings: ExpressionSettings) -> Kernel:
    return _decimal_to_decimal(call, call.eval_mode.raises)


@function("CheckOverflow", [case(["decimal"], result=["decimal"])])
def _check_overflow(call: Call, settings: ExpressionSettings) -> Kernel:
    return _decimal_to_decimal(call, not call.fields["nullOnOverflow"])


@function("Cast", [case((*INTEGRAL, "boolean"), result=["decimal"])])
def _integral_to_decimal(call: Call, settings: ExpressionSettings) -> Kernel:
    target = call.type
    raises = call.eval_mode.raises
    digits = {"boolean": 1, "tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}[call.args[0].type.kind]
    factor = 10**target.scale
    limit = min((10**target.precision - 1) // factor, _INT64_MAX // factor)

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        integers = numbers(array.cast(pa.int8()) if pa.types.is_boolean(array.type) else array)
        if factor <= 10**18:
            buffer, out = new_words(rows)
            if decimal_fast.widen_integers(integers, factor, limit, out):
                return decimal_array(target.arrow, rows, validity_of([array]), buffer)
        plain: Int64Array = integers.astype(np.int64)
        words = frozen(np.stack([plain, plain >> 63], axis=1))
        return _to_decimal(array, words, 0, call, raises)

    return Kernel(run=run, can_raise=raises and target.precision - target.scale < digits)


def truncated(array: pa.Array, scale: int) -> tuple[Int64Array, Any]:
    """Return the words of a decimal array truncated to integers, and its validity flags."""
    words, step = words_of(array)
    rows = len(array)
    valid = valid_flags(validity_of([array]), rows)
    if scale == 0:
        return words, valid
    out = np.empty_like(words)
    status = np.empty(rows, dtype=np.uint8)
    if scale <= 18 and bool(np.all(words[:, 1] == words[:, 0] >> 63)):
        low = words[:, 0]
        out[:, 0] = (low - np.fmod(low, 10**scale)) // 10**scale
        out[:, 1] = out[:, 0] >> 63
        return out, valid
    decimal_wide.evaluate(
        decimal_wide.OP_QUOTIENT, words, step, 0, _ONE, ONE_ROW, scale, False,
        0, 38, valid, decimal_wide.POWERS, out, status,
    )  # fmt: skip
    return out, valid


@function("Cast", [case(["decimal"], result=INTEGRAL)])
def _decimal_to_integral(call: Call, settings: ExpressionSettings) -> Kernel:
    source, target = call.args[0].type, call.type
    info = np.iinfo(np.dtype(f"int{BITS[target.kind]}"))
    mode = call.eval_mode
    by_double = mode is not EvalMode.LEGACY and target.kind != "bigint" and _is_big_decimal(call)

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        if by_double:
            doubles: Any = numbers(to_double(array, source))
            valid = valid_flags(validity_of([array]), rows)
            result = saturate(doubles, info.dtype)
            fits = (np.floor(doubles) <= info.max) & (np.ceil(doubles) >= info.min)
        else:
            words, valid = truncated(array, source.scale)
            low, high = words[:, 0], words[:, 1]
            result = low.astype(info.dtype)
            fits = (high == low >> 63) & (low >= info.min) & (low <= info.max)
        bad = valid & ~fits
        if mode is EvalMode.LEGACY or not bad.any():
            return from_numbers(result, target.arrow, validity_of([array]))
        if mode.raises:
            raise conditions.cast_overflow(array[int(np.flatnonzero(bad)[0])].as_py(), source, target)
        return from_numbers(result, target.arrow, pack_flags(valid & fits))

    return Kernel(run=run, can_raise=mode.raises)


def _is_big_decimal(call: Call) -> bool:
    """Return whether Spark's Decimal holds the argument as a BigDecimal, and therefore checks its range as a double.

    That differs from the exact check only for 16 digits or more.
    """
    argument = call.args[0]
    if argument.type.precision > 18:
        return True
    return isinstance(argument, Call) and argument.name in ("Multiply", "Divide", "Remainder", "Pmod")


def to_double(array: pa.Array, source: DataType) -> pa.Array:
    """Convert decimals to the nearest doubles (Java: BigDecimal.doubleValue)."""
    if source.scale <= 22:
        words, _ = words_of(array)
        doubles = np.empty(len(array), dtype=np.float64)
        validity = validity_of([array])
        # Value and power are exact doubles, so the division rounds only once.
        power = 10.0**source.scale
        done = decimal_fast.to_doubles(words, power, doubles)
        if not done and validity is not None:
            words, _ = decimal_fast.zeroed(words, EACH_ROW, valid_flags(validity, len(array)))
            done = decimal_fast.to_doubles(words, power, doubles)
        if done:
            return from_numbers(doubles, pa.float64(), validity)
    return array.cast(pa.string()).cast(pa.float64())


@function("Cast", [case(["decimal"], result=FLOATING)])
def _decimal_to_floating(call: Call, settings: ExpressionSettings) -> Kernel:
    source = call.args[0].type
    if call.type.kind == "double":
        return Kernel(run=lambda values, rows: to_double(to_array(values[0], rows), source))
    return Kernel(run=lambda values, rows: to_array(values[0], rows).cast(pa.string()).cast(pa.float32()))


@function("Cast", [case(["decimal"], result=["boolean"])])
def _decimal_to_boolean(call: Call, settings: ExpressionSettings) -> Kernel:
    zero = pa.scalar(0, pa.int64()).cast(pa.decimal128(38, 0)).cast(call.args[0].type.arrow)
    return Kernel(run=lambda values, rows: pc.not_equal(values[0], zero))


@function("UnscaledValue", [case(["decimal"], result=["bigint"])])
def _unscaled_value(call: Call, settings: ExpressionSettings) -> Kernel:
    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        low = np.ascontiguousarray(words_of(array)[0][:, 0])
        return from_numbers(low, pa.int64(), validity_of([array]))

    return Kernel(run=run)


@function("MakeDecimal", [case(["bigint"], result=["decimal"])])
def _make_decimal(call: Call, settings: ExpressionSettings) -> Kernel:
    """Build a decimal from an unscaled bigint; too many digits raise or result in NULL."""
    raises = not call.fields["nullOnOverflow"]

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        data: Any = numbers(array)
        buffer, out = new_words(rows)
        out[:, 0] = data
        out[:, 1] = data >> 63
        validity = validity_of([array])
        if call.type.precision < 19:
            bound = 10**call.type.precision
            fits = (data > -bound) & (data < bound)
            if not fits.all():
                valid = valid_flags(validity, rows)
                if raises and not fits[valid].all():
                    raise conditions.unscaled_value_too_large()
                validity = pack_flags(valid & fits)
        return decimal_array(call.type.arrow, rows, validity, buffer)

    return Kernel(run=run, can_raise=raises)
