"""The sign of decimals: unary minus and abs (Spark: Decimal.unary_-, which negates Scala's BigDecimal)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal

import numpy as np
import pyarrow as pa

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.values import to_array
from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array
from pyspark_pipeline.kernels.decimal_words import (
    decimal_array,
    join_words,
    split_words,
    valid_flags,
    validity_of,
    words_of,
)
from pyspark_pipeline.plan.expr import Call

_JAVA_DIGITS = Context(prec=34, rounding=ROUND_HALF_EVEN)


def _negated(words: Int64Array, valid: BoolArray, mask: BoolArray, call: Call) -> Int64Array:
    """Negate the rows of ``mask``. Scala's BigDecimal rounds a negation to 34 digits, HALF_EVEN."""
    low, high = words[:, 0], words[:, 1]
    out = np.empty_like(words)
    out[:, 0] = np.where(mask, -low, low)
    out[:, 1] = np.where(mask, ~high + (low == 0), high)
    if call.type.precision <= 34:
        return out
    # Only values with a high word of at least 10**34 >> 64 can have more than 34 digits and need the exact check.
    for row in np.flatnonzero(valid & mask & ((high >= 542101086242752) | (high <= -542101086242752))):
        value = join_words(*words[row])
        rounded = int(_JAVA_DIGITS.minus(Decimal(value)))
        if abs(rounded) >= 10**call.type.precision:
            original = _JAVA_DIGITS.minus(Decimal(value).scaleb(-call.type.scale, Context(prec=80)))
            parameters = {
                "roundedValue": str(Decimal(rounded).scaleb(-call.type.scale, Context(prec=80))),
                "originalValue": str(original),
                "precision": str(call.type.precision),
                "scale": str(call.type.scale),
            }
            condition = "NUMERIC_VALUE_OUT_OF_RANGE.WITHOUT_SUGGESTION"
            raise SparkConditionError("SparkArithmeticException", condition, parameters)
        out[row] = split_words(rounded)
    return out


def _sign_change(call: Call, only_negative: bool) -> Kernel:
    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        words, _ = words_of(array)
        validity = validity_of([array])
        mask = words[:, 1] < 0 if only_negative else np.ones(rows, dtype=np.bool_)
        out = _negated(words, valid_flags(validity, rows), mask, call)
        return decimal_array(call.type.arrow, rows, validity, pa.py_buffer(out))

    return Kernel(run=run, can_raise=call.type.precision > 34)


@function("UnaryMinus", [case(["decimal"])])
def _unary_minus(call: Call, settings: ExpressionSettings) -> Kernel:
    return _sign_change(call, only_negative=False)


@function("Abs", [case(["decimal"])])
def _abs(call: Call, settings: ExpressionSettings) -> Kernel:
    return _sign_change(call, only_negative=True)
