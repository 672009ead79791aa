"""Errors as NULL and values as errors: the ``try_`` functions, ``raise_error`` (Spark: TryEval, RaiseError)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.frame import Evaluable, Frame
from pyspark_pipeline.expressions.registry import (
    KINDS,
    ExpressionSettings,
    Kernel,
    LazyKernel,
    Value,
    case,
    function,
)
from pyspark_pipeline.expressions.values import decode, to_array
from pyspark_pipeline.plan.expr import Call


@function("TryEval", [case(KINDS)])
def _try_eval(call: Call, settings: ExpressionSettings) -> LazyKernel:
    """Return the value of an expression; NULL in the rows in which it raises, found by halving the rows."""
    null = pa.scalar(None, call.type.arrow)

    def evaluate(frame: Frame, arg: Evaluable) -> pa.Array:
        try:
            return decode(to_array(frame.value(arg), frame.num_rows))
        except SparkConditionError:
            if frame.num_rows == 1:
                return pa.repeat(null, 1)
        is_first = pa.array(np.arange(frame.num_rows) < frame.num_rows // 2)
        is_last = pa.array(np.arange(frame.num_rows) >= frame.num_rows // 2)
        return pa.concat_arrays([evaluate(frame.subset(half), arg) for half in (is_first, is_last)])

    return LazyKernel(run=lambda frame, args: evaluate(frame, args[0]))


_PARAMETERS = {"0": "USER_RAISED_EXCEPTION", "1": "errorMessage"}


@function("RaiseError(CreateMap)", [case(["string"], ["string"], ["string"], matches=_PARAMETERS)])
def _raise_error(call: Call, settings: ExpressionSettings) -> Kernel:
    """Raise an error with the message of the first row."""

    def run(values: Sequence[Value], rows: int) -> Value:
        message = to_array(values[2], rows)[0].as_py()
        raise conditions.user_raised("null" if message is None else message)

    return Kernel(run=run, can_raise=True, null_intolerant=False)
