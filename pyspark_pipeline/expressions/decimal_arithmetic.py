"""Decimal + - * / % div (Spark: arithmetic.scala, Decimal.scala of 4.1).

Spark computes exactly (products and quotients are truncated, never rounded, at 39 digits) and then rounds
HALF_UP to the result's scale, so one rounding of the exact result is the same. A result that does not
fit its precision raises in ANSI mode and is NULL in the others. Each operation tries 64-bit inputs first
(``decimal_fast``) and falls back to the exact wide kernel, which also finds the rows that do not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.arithmetic import divisor_checked
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.kernels import decimal_fast, decimal_wide
from pyspark_pipeline.kernels.arrays import Int64Array
from pyspark_pipeline.kernels.decimal_words import (
    ONE_ROW,
    decimal_array,
    join_words,
    new_words,
    pack_flags,
    unscaled,
    valid_flags,
    validity_of,
    words_of,
)
from pyspark_pipeline.plan.eval_mode import mode_fields
from pyspark_pipeline.plan.expr import Call, Expr, Literal

_MODES = mode_fields()
_BINARY = [case(["decimal"], ["decimal"], fields=_MODES)]
_INT64_MAX = 2**63 - 1

#: Tries the operation on 64-bit words (left, step, right, step, out) and returns whether it succeeded for all rows.
Fast = Callable[[Any, Any, Any, Any, Int64Array], Any]


class DecimalOperation:
    """One operation on two decimals with its scale factors; computes the words of the result."""

    def __init__(
        self, op: int, call: Call, result: DataType, powers: tuple[int, int], drop: int, negate: bool = False
    ) -> None:
        self.op = op
        self.call = call
        self.result = result
        self.powers = powers
        self.drop = drop
        self.negate = negate
        self.fast: Fast | None = None
        #: The digits of a quotient in an error; rounded to them if they are those of the result.
        self.shown_digits = 0

    def words(self, left: Value, right: Value, rows: int) -> tuple[pa.Buffer, Int64Array, pa.Buffer | None]:
        """Return (buffer, its words, validity) of the result; rows that do not fit raise or become NULL."""
        validity = validity_of([left, right])
        lwords, lstep = words_of(left)
        rwords, rstep = words_of(right)
        buffer, out = new_words(rows)
        if self.fast is not None and self.fast(lwords, lstep, rwords, rstep, out):
            return buffer, out, validity
        valid = valid_flags(validity, rows)
        if self.fast is not None and validity is not None:
            # Values of NULL rows are undefined: set them to zero and try again.
            lwords, lstep = decimal_fast.zeroed(lwords, lstep, valid)
            rwords, rstep = decimal_fast.zeroed(rwords, rstep, valid)
            if self.fast(lwords, lstep, rwords, rstep, out):
                return buffer, out, validity
        status = np.empty(rows, dtype=np.uint8)
        wide = decimal_wide
        failures = wide.evaluate(
            self.op, lwords, lstep, self.powers[0], rwords, rstep, self.powers[1], self.negate,
            self.drop, self.result.precision, valid, wide.POWERS, out, status,
        )  # fmt: skip
        if failures:
            if self.call.eval_mode.raises or (status == 2).any():
                self._raise(int(np.flatnonzero(status)[0]), int(status.max()), lwords, lstep, rwords, rstep)
            validity = pack_flags(valid & (status == 0))
        return buffer, out, validity

    def _raise(self, row: int, status: int, lwords: Int64Array, lstep: Any, rwords: Int64Array, rstep: Any) -> None:
        if status == 2:
            raise SparkConditionError("ArithmeticException", "", {"message": "Division impossible"}, self.call.context)
        left = join_words(*lwords[row * int(lstep)]) * 10 ** self.powers[0]
        right = join_words(*rwords[row * int(rstep)]) * 10 ** self.powers[1] * (-1 if self.negate else 1)
        lscale, rscale = (arg.type.scale for arg in self.call.args)
        if self.op == decimal_wide.OP_ADD:
            value, scale = left + right, max(lscale, rscale)
        elif self.op == decimal_wide.OP_MULTIPLY:
            value, scale = _truncate(left * right, lscale + rscale)
        else:
            scale = self.shown_digits
            left = left // 10 ** self.powers[0] * 10 ** (scale + rscale)
            right = right // 10 ** self.powers[1] * 10**lscale
            half = abs(right) // 2 if scale == self.result.scale and self.op == decimal_wide.OP_DIVIDE else 0
            value = (abs(left) + half) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        raise conditions.decimal_out_of_range(value, scale, self.result, self.call.context)


def _truncate(value: int, scale: int) -> tuple[int, int]:
    """Truncate to the first 39 digits, as Java's MathContext(39, DOWN) of Spark's multiplication does."""
    excess = max(len(str(abs(value))) - 39, 0)
    kept = abs(value) // 10**excess
    zeros = max(excess - scale, 0)
    return kept * 10**zeros * (-1 if value < 0 else 1), max(scale - excess, 0)


def _kernel(operation: DecimalOperation) -> Kernel:
    arrow = operation.result.arrow

    def run(values: Sequence[Value], rows: int) -> Value:
        buffer, _, validity = operation.words(values[0], values[1], rows)
        return decimal_array(arrow, rows, validity, buffer)

    return Kernel(run=run, can_raise=operation.call.eval_mode.raises)


def _additive(call: Call, negate: bool) -> Kernel:
    left, right = (arg.type for arg in call.args)
    scale = max(left.scale, right.scale)
    powers = (scale - left.scale, scale - right.scale)
    drop = scale - call.type.scale
    operation = DecimalOperation(decimal_wide.OP_ADD, call, call.type, powers, drop, negate)
    needed = max(left.precision - left.scale, right.precision - right.scale) + scale + 1
    constants = [_scaled_constant(arg, power) for arg, power in zip(call.args, powers, strict=True)]
    aligned = all(power == 0 or constant is not None for power, constant in zip(powers, constants, strict=True))
    if aligned and (needed <= call.type.precision or call.type.precision >= 19):
        operation.fast = _with_rounding(_plain_addition(constants, -1 if negate else 0), drop)
    elif max(powers) <= 17:
        factors = (10 ** powers[0], 10 ** powers[1] * (-1 if negate else 1))
        limits = tuple(2**62 // abs(factor) - 1 for factor in factors)
        bound = min(10 ** (call.type.precision + drop), _INT64_MAX)
        operation.fast = _with_rounding(
            lambda lw, ls, rw, rs, out: decimal_fast.add_scaled(lw, ls, rw, rs, *factors, *limits, bound, out), drop
        )
    return _kernel(operation)


def _scaled_constant(arg: Expr, power: int) -> Int64Array | None:
    """Return the words of a literal at the common scale; None if ``arg`` is not a literal that needs scaling."""
    if power == 0 or not isinstance(arg, Literal) or arg.value is None:
        return None
    return words_of(pa.scalar(Decimal(unscaled(arg.value, arg.type.scale) * 10**power), pa.decimal128(38, 0)))[0]


def _plain_addition(constants: Sequence[Int64Array | None], flip: int) -> Fast:
    """Build the addition of operands of one scale; a constant operand is already scaled."""
    left, right = constants

    def add(lwords: Int64Array, lstep: Any, rwords: Int64Array, rstep: Any, out: Int64Array) -> Any:
        if left is not None:
            lwords, lstep = left, ONE_ROW
        if right is not None:
            rwords, rstep = right, ONE_ROW
        return decimal_fast.add_plain(lwords, lstep, rwords, rstep, flip, out)

    return add


def _with_rounding(fast: Fast, drop: int) -> Fast | None:
    """Build a fast operation that rounds the last ``drop`` digits off the result of ``fast``."""
    if drop == 0:
        return fast
    if drop > 17:
        return None

    def run(left: Int64Array, lstep: Any, right: Int64Array, rstep: Any, out: Int64Array) -> Any:
        exact = np.empty_like(out)
        return fast(left, lstep, right, rstep, exact) and decimal_fast.rescale_down(exact, 10**drop, _INT64_MAX, out)

    return run


@function("Add", _BINARY)
def _add(call: Call, settings: ExpressionSettings) -> Kernel:
    return _additive(call, negate=False)


@function("Subtract", _BINARY)
def _subtract(call: Call, settings: ExpressionSettings) -> Kernel:
    return _additive(call, negate=True)


@function("Multiply", _BINARY)
def _multiply(call: Call, settings: ExpressionSettings) -> Kernel:
    left, right = (arg.type for arg in call.args)
    drop = left.scale + right.scale - call.type.scale
    operation = DecimalOperation(decimal_wide.OP_MULTIPLY, call, call.type, (0, 0), drop)
    if drop == 0 and left.precision + right.precision <= 18:
        operation.fast = decimal_fast.multiply_narrow
    elif drop == 0:
        # Products of 64-bit numbers are below 10**38; a smaller precision is p1 + p2 + 1 and always fits.
        operation.fast = decimal_fast.multiply_exact
    elif drop <= 19:
        divisor = np.uint64(10**drop)
        operation.fast = lambda lw, ls, rw, rs, out: decimal_fast.multiply_rounded(lw, ls, rw, rs, divisor, out)
    return _kernel(operation)


def _division(operation: DecimalOperation, error: Callable[[int], Exception]) -> Kernel:
    arrow = operation.result.arrow

    def divide(left: Value, right: Value, rows: int) -> Value:
        buffer, _, validity = operation.words(left, right, rows)
        return decimal_array(arrow, rows, validity, buffer)

    return divisor_checked(operation.call, divide, error)


@function("Divide", _BINARY)
def _divide(call: Call, settings: ExpressionSettings) -> Kernel:
    left, right = (arg.type for arg in call.args)
    power = call.type.scale - left.scale + right.scale
    powers = (max(power, 0), max(-power, 0))
    operation = DecimalOperation(decimal_wide.OP_DIVIDE, call, call.type, powers, 0)
    operation.shown_digits = call.type.scale if settings.divides_at_scale else 39
    if 0 <= power <= 18:
        factor = 10**power
        operation.fast = lambda lw, ls, rw, rs, out: decimal_fast.divide_rounded(lw, ls, rw, rs, factor, out)
    return _division(operation, conditions.divide_by_zero)


@function("Remainder", _BINARY)
def _remainder(call: Call, settings: ExpressionSettings) -> Kernel:
    left, right = (arg.type for arg in call.args)
    scale = max(left.scale, right.scale)
    powers = (scale - left.scale, scale - right.scale)
    operation = DecimalOperation(decimal_wide.OP_REMAINDER, call, call.type, powers, scale - call.type.scale)
    if operation.drop == 0 and max(powers) <= 18:
        factors = (10 ** powers[0], 10 ** powers[1])
        limits = tuple(_INT64_MAX // factor for factor in factors)
        operation.fast = lambda lw, ls, rw, rs, out: decimal_fast.remainder_scaled(
            lw, ls, rw, rs, *factors, *limits, out
        )
    return _division(operation, conditions.remainder_by_zero)


@function("IntegralDivide", _BINARY)
def _integral_divide(call: Call, settings: ExpressionSettings) -> Kernel:
    left, right = (arg.type for arg in call.args)
    scale = max(left.scale, right.scale)
    digits = min(max(left.precision - left.scale + right.scale, 1), 38)
    powers = (scale - left.scale, scale - right.scale)
    operation = DecimalOperation(decimal_wide.OP_QUOTIENT, call, DataType("decimal", digits, 0), powers, 0)

    def divide(left: Value, right: Value, rows: int) -> Value:
        _, words, validity = operation.words(left, right, rows)
        low = np.ascontiguousarray(words[:, 0])
        return pa.Array.from_buffers(pa.int64(), rows, [validity, pa.py_buffer(low)])

    return divisor_checked(call, divide, conditions.divide_by_zero)
