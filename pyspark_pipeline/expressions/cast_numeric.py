"""Casts among boolean, integers and floating-point numbers (Spark: Cast.scala).

ANSI: a value outside the target's range raises, NaN too. TRY: it is NULL. LEGACY: integers wrap around;
floating-point values saturate as Java's (int) and (long), tinyint and smallint through int.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType
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
from pyspark_pipeline.expressions.values import from_numbers, numbers, to_array
from pyspark_pipeline.kernels.arrays import Array, BoolArray
from pyspark_pipeline.kernels.decimal_words import pack_flags, valid_flags, validity_of
from pyspark_pipeline.plan.eval_mode import EvalMode
from pyspark_pipeline.plan.expr import Call

PLAIN = (*INTEGRAL, *FLOATING)
BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


def unsafe_cast(value: Value, target: DataType) -> Value:
    """Cast as C does, without a range check."""
    return pc.cast(value, target.arrow, safe=False)


@function("Cast", [case(PLAIN, result=["boolean"])])
def _to_boolean(call: Call, settings: ExpressionSettings) -> Kernel:
    zero = pa.scalar(0, call.args[0].type.arrow)
    return Kernel(run=lambda values, rows: pc.not_equal(values[0], zero))


@function("Cast", [case(["boolean"], result=PLAIN), case(["boolean"], result=["boolean"])])
def _from_boolean(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: unsafe_cast(values[0], call.type))


@function("Cast", [case(PLAIN, result=FLOATING)])
def _to_floating(call: Call, settings: ExpressionSettings) -> Kernel:
    """Round to nearest, as Java's (double) and (float)."""
    if call.args[0].type == call.type:
        return Kernel(run=lambda values, rows: values[0])

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        with np.errstate(all="ignore"):
            data: Array = numbers(array).astype(np.float64 if call.type.kind == "double" else np.float32)
        return from_numbers(data, call.type.arrow, validity_of([array]))

    return Kernel(run=run)


@function("Cast", [case(INTEGRAL, result=INTEGRAL)])
def _integral_to_integral(call: Call, settings: ExpressionSettings) -> Kernel:
    source, target = call.args[0].type, call.type
    mode = call.eval_mode
    if mode is EvalMode.LEGACY or BITS[source.kind] <= BITS[target.kind]:
        return Kernel(run=lambda values, rows: unsafe_cast(values[0], target))

    def run(values: Sequence[Value], rows: int) -> Value:
        try:
            return pc.cast(values[0], target.arrow)
        except pa.ArrowInvalid:
            array = to_array(values[0], rows)
            data: Array = numbers(array)
            info = np.iinfo(np.dtype(f"int{BITS[target.kind]}"))
            return checked_result(call, array, data.astype(info.dtype), (data >= info.min) & (data <= info.max))

    return Kernel(run=run, can_raise=mode.raises)


@function("Cast", [case(FLOATING, result=INTEGRAL)])
def _floating_to_integral(call: Call, settings: ExpressionSettings) -> Kernel:
    target = call.type
    info = np.iinfo(np.dtype(f"int{BITS[target.kind]}"))
    mode = call.eval_mode

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        data: Array = numbers(array).astype(np.float64)
        with np.errstate(all="ignore"):
            if mode is EvalMode.LEGACY:
                wide = saturate(data, np.int64 if target.kind == "bigint" else np.int32)
                return from_numbers(wide.astype(info.dtype), target.arrow, validity_of([array]))
            fits = (np.floor(data) <= float(info.max)) & (np.ceil(data) >= float(info.min))
            return checked_result(call, array, saturate(data, info.dtype), fits)

    return Kernel(run=run, can_raise=mode.raises)


def saturate(data: Array, dtype: Any) -> Array:
    """Convert doubles as Java does: towards zero, NaN to 0, out of range to the nearest bound."""
    info = np.iinfo(dtype)
    low, high = data <= float(info.min), data >= float(info.max)
    result = np.where(low | high | np.isnan(data), 0.0, data).astype(dtype)
    result[low] = info.min
    result[high] = info.max
    return result


def checked_result(call: Call, array: pa.Array, result: Array, fits: BoolArray) -> pa.Array:
    """Return ``result`` with the rows that do not fit as NULL, or raise CAST_OVERFLOW for the first (ANSI)."""
    validity = validity_of([array])
    valid = valid_flags(validity, len(array))
    bad = valid & ~fits
    if not bad.any():
        return from_numbers(result, call.type.arrow, validity)
    if call.eval_mode.raises:
        value = array[int(np.flatnonzero(bad)[0])].as_py()
        raise conditions.cast_overflow(value, call.args[0].type, call.type)
    return from_numbers(result, call.type.arrow, pack_flags(valid & fits))
