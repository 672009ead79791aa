"""Functions of doubles with one exact result, and factorials (Spark: mathExpressions.scala).

Functions that Java computes to its own last digit (``exp``, ``ln``, ``pow``, ``sin`` …) are not here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.values import flags, number_kernel, numbers, to_array
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
