"""Strings: substring, length, concatenation, case and trimming, by Unicode code points as UTF8String counts."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.values import to_array
from pyspark_pipeline.plan.expr import Call, Literal

_INT_MAX = 2**31 - 1


def slice_bounds(position: int, length: int) -> tuple[int, int | None] | None:
    """Turn SQL's (position, length) to Arrow's (start, stop); None for the empty string.

    UTF8String.substringSQL: position 1 and 0 are the first character, a negative one counts from the end
    and may reach before the start, where the length still counts from.
    """
    if length <= 0:
        return None
    if position >= 0:
        start = max(position - 1, 0)
        return start, min(start + length, _INT_MAX)
    stop = position + length
    return position, (None if stop >= 0 else stop)


@function("Substring", [case(["string"], ["int"], ["int"], literal=[1, 2])])
def _substring(call: Call, settings: ExpressionSettings) -> Kernel:
    position, length = (arg.value for arg in call.args[1:] if isinstance(arg, Literal))
    if position is None or length is None:
        return Kernel(run=lambda values, rows: pa.scalar(None, pa.string()))
    bounds = slice_bounds(position, length)

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        if bounds is None:
            return pc.if_else(array.is_valid(), pa.scalar(""), pa.scalar(None, pa.string()))
        return pc.utf8_slice_codeunits(array, start=bounds[0], stop=bounds[1])

    return Kernel(run=run, by_dictionary=True)


@function("Length", [case(["string"]), case(["binary"])])
def _length(call: Call, settings: ExpressionSettings) -> Kernel:
    """Count characters of a string, bytes of a binary."""
    count = pc.utf8_length if call.args[0].type.kind == "string" else pc.binary_length
    return Kernel(run=lambda values, rows: count(values[0]), by_dictionary=True)


@function("Concat", [case(["string"], ["string"], variadic=True), case(["string"])])
def _concat(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: pc.binary_join_element_wise(*values, ""), by_dictionary=True)
