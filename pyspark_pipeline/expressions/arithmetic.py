"""Arithmetic of integers and floating-point numbers (Spark: arithmetic.scala).

ANSI raises on overflow and on a zero divisor, LEGACY wraps around and returns NULL for a zero divisor, TRY
returns NULL for both. The error of tinyint and smallint names the operands; that of int and bigint does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.registry import (
    FLOATING,
    INTEGRAL,
    ExpressionSettings,
    Kernel,
    Value,
    case,
    function,
)
from pyspark_pipeline.expressions.values import from_numbers, numbers, set_null, to_array, truth
from pyspark_pipeline.kernels.arrays import Array
from pyspark_pipeline.kernels.decimal_words import validity_of
from pyspark_pipeline.plan.eval_mode import EvalMode, mode_fields
from pyspark_pipeline.plan.expr import Call

PLAIN = (*INTEGRAL, *FLOATING)
_MODES = mode_fields()
_BINARY = [case(PLAIN, PLAIN, same_type=True, fields=_MODES)]
_OPERATIONS: dict[str, tuple[str, str, Callable[..., Any]]] = {
    "add": ("+", "try_add", np.add),
    "subtract": ("-", "try_subtract", np.subtract),
    "multiply": ("*", "try_multiply", np.multiply),
}


def _binary(call: Call, operation: str) -> Kernel:
    """Build + - or * of two numbers of one type."""
    wrapping = getattr(pc, operation)
    if call.type.is_floating or call.eval_mode is EvalMode.LEGACY:
        return Kernel(run=lambda values, rows: wrapping(*values))
    checked = getattr(pc, f"{operation}_checked")
    raises = call.eval_mode.raises

    def run(values: Sequence[Value], rows: int) -> Value:
        try:
            return checked(*values)
        except pa.ArrowInvalid:
            overflow = _overflow_rows(values, rows, operation)
            if raises:
                raise _overflow_error(call, operation, values, rows, overflow) from None
            return set_null(wrapping(*values), overflow)

    return Kernel(run=run, can_raise=raises)


def _overflow_rows(values: Sequence[Value], rows: int, operation: str) -> pa.BooleanArray:
    """Return true for the rows whose exact result differs from the wrapped one (NULL rows: false)."""
    arrays = [to_array(value, rows) for value in values]
    left: Array
    right: Array
    left, right = (numbers(array) for array in arrays)
    if operation == "multiply" and left.dtype == np.int64:
        wrapped = np.multiply(left, right)
        safe = np.where((left == 0) | (left == -1), 1, left)
        bad = (left != 0) & (left != -1) & (wrapped // safe != right)
        bad |= (left == -1) & (right == np.iinfo(np.int64).min)
    elif left.dtype == np.int64:
        wrapped = np.add(left, right) if operation == "add" else np.subtract(left, right)
        bad = (left ^ wrapped) & (right ^ wrapped if operation == "add" else left ^ right) < 0
    else:
        exact = _OPERATIONS[operation][2](left.astype(np.int64), right.astype(np.int64))
        bad = exact != exact.astype(left.dtype)
    validity = validity_of(arrays)
    return truth(pa.Array.from_buffers(pa.bool_(), rows, [validity, pa.array(bad).buffers()[1]]), rows)


def _overflow_error(
    call: Call, operation: str, values: Sequence[Value], rows: int, overflow: pa.BooleanArray
) -> Exception:
    symbol, suggestion, _ = _OPERATIONS[operation]
    if call.type.kind in ("int", "bigint"):
        return conditions.arithmetic_overflow(call.type.kind, suggestion, call.context)
    row = overflow.index(True).as_py()
    left, right = (to_array(value, rows)[row].as_py() for value in values)
    return conditions.binary_overflow(left, symbol, right, suggestion, -1)


@function("Add", _BINARY)
def _add(call: Call, settings: ExpressionSettings) -> Kernel:
    return _binary(call, "add")


@function("Subtract", _BINARY)
def _subtract(call: Call, settings: ExpressionSettings) -> Kernel:
    return _binary(call, "subtract")


@function("Multiply", _BINARY)
def _multiply(call: Call, settings: ExpressionSettings) -> Kernel:
    return _binary(call, "multiply")


def divisor_checked(
    call: Call, operation: Callable[[Any, Any, int], Value], error: Callable[[int], Exception]
) -> Kernel:
    """Build a division that raises (ANSI) or returns NULL for a zero divisor.

    ``operation`` receives an array divisor with its zeros as NULL. Spark evaluates the divisor first.
    """
    raises = call.eval_mode.raises

    def run(values: Sequence[Value], rows: int) -> Value:
        left, right = values
        zero = truth(pc.equal(right, pa.scalar(Decimal(0) if call.args[1].type.is_decimal else 0, right.type)), rows)
        if zero.true_count:
            if raises and pc.any(pc.and_(zero, to_array(left, rows).is_valid())).as_py():
                raise error(call.context)
            right = set_null(to_array(right, rows), zero)
        return operation(left, right, rows)

    return Kernel(run=run, can_raise=raises, order=(1, 0))


@function("Divide", [case(["double"], ["double"], fields=_MODES), case(["float"], ["float"], fields=_MODES)])
def _divide(call: Call, settings: ExpressionSettings) -> Kernel:
    return divisor_checked(call, lambda left, right, rows: pc.divide(left, right), conditions.divide_by_zero)


def _numpy_binary(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any, int], Value]:
    """Build an operation on values from a numpy function of (left, right); valid rows have no zero divisor."""

    def operation(left: Value, right: Value, rows: int) -> Value:
        arrays = [to_array(left, rows), to_array(right, rows)]
        dividend, divisor = (numbers(array) for array in arrays)
        with np.errstate(all="ignore"):
            result = compute(dividend, divisor)
        return from_numbers(result.astype(dividend.dtype, copy=False), arrays[0].type, validity_of(arrays))

    return operation


def _remainder_numpy(left: Array, right: Array) -> Array:
    """Compute Java's %: the sign of the dividend; x % -1 is 0 also for the smallest integer."""
    if left.dtype.kind == "i":
        right = np.where((right == 0) | (right == -1), np.ones(1, right.dtype), right)
    return np.fmod(left, right)


def _pmod_numpy(left: Array, right: Array) -> Array:
    """Compute Spark's pmod: (r + n) % n if r = a % n is negative; tinyint and smallint are computed as int."""
    if left.dtype.itemsize < 4 and left.dtype.kind == "i":
        left, right = left.astype(np.int32), right.astype(np.int32)
    remainder = _remainder_numpy(left, right)
    return np.where(remainder < 0, _remainder_numpy(remainder + right, right), remainder)


def _quotient_numpy(left: Array, right: Array) -> Array:
    """Compute Java's integer /: it truncates; the smallest bigint / -1 wraps around."""
    safe = np.where((right == 0) | (right == -1), np.ones(1, right.dtype), right)
    quotient = (left - np.fmod(left, safe)) // safe
    return np.where(right == -1, -left, quotient)


@function("Remainder", _BINARY)
def _remainder(call: Call, settings: ExpressionSettings) -> Kernel:
    return divisor_checked(call, _numpy_binary(_remainder_numpy), conditions.remainder_by_zero)


@function("Pmod", _BINARY)
def _pmod(call: Call, settings: ExpressionSettings) -> Kernel:
    return divisor_checked(call, _numpy_binary(_pmod_numpy), conditions.remainder_by_zero)


@function("IntegralDivide", [case(["bigint"], ["bigint"], fields=_MODES)])
def _integral_divide(call: Call, settings: ExpressionSettings) -> Kernel:
    smallest = pa.scalar(-(2**63), pa.int64())
    quotient = _numpy_binary(_quotient_numpy)
    mode = call.eval_mode

    def operation(left: Value, right: Value, rows: int) -> Value:
        if mode is EvalMode.LEGACY:
            return quotient(left, right, rows)
        overflow = pc.and_(pc.equal(left, smallest), pc.equal(right, pa.scalar(-1, pa.int64())))
        overflow = truth(overflow, rows)
        if overflow.true_count and mode.raises:
            raise conditions.integral_divide_overflow(call.context)
        result = quotient(left, right, rows)
        return set_null(result, overflow) if overflow.true_count else result

    return divisor_checked(call, operation, conditions.divide_by_zero)


def _sign_change(call: Call, operation: str) -> Kernel:
    """Build unary minus or abs: the smallest integer overflows."""
    wrapping = getattr(pc, operation)
    if call.type.is_floating or not call.fields["failOnError"]:
        return Kernel(run=lambda values, rows: wrapping(values[0]))
    checked = getattr(pc, f"{operation}_checked")

    def run(values: Sequence[Value], rows: int) -> Value:
        try:
            return checked(values[0])
        except pa.ArrowInvalid:
            raise conditions.arithmetic_overflow(call.type.kind, "", -1) from None

    return Kernel(run=run, can_raise=True)


@function("UnaryMinus", [case(PLAIN)])
def _unary_minus(call: Call, settings: ExpressionSettings) -> Kernel:
    return _sign_change(call, "negate")


@function("Abs", [case(PLAIN)])
def _abs(call: Call, settings: ExpressionSettings) -> Kernel:
    return _sign_change(call, "abs")


@function("UnaryPositive", [case((*PLAIN, "decimal"))])
def _unary_positive(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: values[0])
