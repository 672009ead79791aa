"""Bits of integers: & | ^ ~ and shifts (Spark: bitwiseExpressions.scala, mathExpressions.scala).

Spark's ``grouping()`` extracts its bit of the grouping id with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow.compute as pc

from pyspark_pipeline.expressions.registry import INTEGRAL, ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.values import from_numbers, numbers, to_array
from pyspark_pipeline.kernels.arrays import Array
from pyspark_pipeline.kernels.decimal_words import validity_of
from pyspark_pipeline.plan.expr import Call

_BINARY = [case(INTEGRAL, INTEGRAL, same_type=True)]
_SHIFTED = [case(["int", "bigint"], ["int"])]


@function("BitwiseAnd", _BINARY)
def _and(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: pc.bit_wise_and(*values))


@function("BitwiseOr", _BINARY)
def _or(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: pc.bit_wise_or(*values))


@function("BitwiseXor", _BINARY)
def _xor(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: pc.bit_wise_xor(*values))


@function("BitwiseNot", [case(INTEGRAL)])
def _not(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: pc.bit_wise_not(values[0]))


@function("ShiftLeft", _SHIFTED)
def _left(call: Call, settings: ExpressionSettings) -> Kernel:
    return _shift(np.left_shift)


@function("ShiftRight", _SHIFTED)
def _right(call: Call, settings: ExpressionSettings) -> Kernel:
    return _shift(np.right_shift)


@function("ShiftRightUnsigned", _SHIFTED)
def _right_unsigned(call: Call, settings: ExpressionSettings) -> Kernel:
    """Fill with zeros from the left."""
    return _shift(lambda data, by: np.right_shift(_unsigned(data), _unsigned(by)).view(data.dtype))


def _shift(operation: Callable[[Any, Any], Any]) -> Kernel:
    """Build a shift by the lowest 5 bits (int) or 6 bits (bigint) of the second argument, as Java does."""

    def run(values: Sequence[Value], rows: int) -> Value:
        arrays = [to_array(value, rows) for value in values]
        data, by = (numbers(array) for array in arrays)
        distance = by.astype(data.dtype) & data.dtype.type(8 * data.dtype.itemsize - 1)
        return from_numbers(operation(data, distance), arrays[0].type, validity_of(arrays))

    return Kernel(run=run)


def _unsigned(data: Array) -> Array:
    return data.view(f"u{data.dtype.itemsize}")
