"""Functions of doubles with one exact result or that of Java's StrictMath; factorials (Spark: mathExpressions.scala).

Functions of Java's ``Math``, whose last digit Java does not specify (``sin``, ``tan`` …), are not here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.values import flags, from_numbers, number_kernel, numbers, numbers_or_zero, to_array
from pyspark_pipeline.kernels import fdlibm
from pyspark_pipeline.kernels.decimal_words import validity_of
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.plan.expr import Call


def _signum(data: Any) -> Any:
    """Return -1.0 or 1.0; NaN and both zeros remain."""
    return np.where((data == 0) | np.isnan(data), data, np.copysign(1.0, data))


_OF_DOUBLE: dict[str, Callable[[Any], Any]] = {
    "Sqrt": np.sqrt,
    "Signum": _signum,
    "ToDegrees": lambda data: data * 57.29577951308232,
    "ToRadians": lambda data: data * 0.017453292519943295,
}

for _name in _OF_DOUBLE:

    @function(_name, [case(["double"])])
    def _of_double(call: Call, settings: ExpressionSettings) -> Kernel:
        def compute(data: Any) -> Any:
            with np.errstate(all="ignore"):
                return _OF_DOUBLE[call.name](data)

        return number_kernel(compute, pa.float64())


def _of_each(kernel: Callable[[Any, Any], None], data: Any) -> Any:
    """Return the doubles that a kernel of :mod:`~.kernels.fdlibm` writes."""
    out = np.empty(len(data), dtype=np.float64)
    kernel(frozen(data), out)
    return out


def _ln(data: Any) -> Any:
    return _of_each(fdlibm.log_all, data)


@function("Exp", [case(["double"])])
def _exponential(call: Call, settings: ExpressionSettings) -> Kernel:
    return number_kernel(lambda data: _of_each(fdlibm.exp_all, data), pa.float64())


_LN_2 = 0.6931471805599453
_LOGARITHMS: dict[str, Callable[[Any], Any]] = {
    "Log": _ln,
    "Log10": lambda data: _of_each(fdlibm.log10_all, data),
    "Log2": lambda data: _ln(data) / _LN_2,
}

for _name in _LOGARITHMS:

    @function(_name, [case(["double"])])
    def _logarithm(call: Call, settings: ExpressionSettings) -> Kernel:
        """Return NULL for zero and negative numbers."""

        def run(values: Sequence[Value], rows: int) -> Value:
            array = to_array(values[0], rows)
            data: Any = numbers_or_zero(array)
            return pa.array(_LOGARITHMS[call.name](data), mask=data <= 0)

        return Kernel(run=run)


@function("Logarithm", [case(["double"], ["double"])])
def _logarithm_to_base(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return ``ln(number) / ln(base)`` of (base, number); NULL if one of them is zero or negative."""

    def run(values: Sequence[Value], rows: int) -> Value:
        base: Any
        number: Any
        base, number = (numbers_or_zero(to_array(value, rows)) for value in values)
        with np.errstate(all="ignore"):
            return pa.array(_ln(number) / _ln(base), mask=(base <= 0) | (number <= 0))

    return Kernel(run=run)


@function("Pow", [case(["double"], ["double"])])
def _power(call: Call, settings: ExpressionSettings) -> Kernel:
    def run(values: Sequence[Value], rows: int) -> Value:
        arrays = [to_array(value, rows) for value in values]
        out = np.empty(rows, dtype=np.float64)
        fdlibm.pow_all(*(numbers(array) for array in arrays), out)
        return from_numbers(out, pa.float64(), validity_of(arrays))

    return Kernel(run=run)


_FACTORIALS = pa.array([math.factorial(number) for number in range(21)], pa.int64())


@function("Factorial", [case(["int"])])
def _factorial(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return n!, NULL outside 0 to 20."""

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        data: Any = numbers(array)
        known = (data >= 0) & (data <= 20) & flags(array.is_valid())
        return _FACTORIALS.take(pa.array(np.where(known, data, 0), mask=~known))

    return Kernel(run=run)
