"""Strings whose bytes may not be UTF-8 (Spark: IsValidUTF8, MakeValidUTF8, ValidateUTF8, TryValidateUTF8)."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.values import to_array
from pyspark_pipeline.plan.expr import Call


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def is_valid_array(array: pa.Array) -> bool:
    """Return whether all strings of ``array`` are UTF-8."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def bytes_of(array: pa.Array) -> list[bytes | None]:
    """Return the bytes of each string of ``array``."""
    return list(array.cast(pa.binary()).to_pylist())


_STRING = [case(["string"])]


def valid_text(array: pa.Array) -> pa.Array:
    """Replace each longest part that begins a character, or byte that does not, by U+FFFD."""
    if is_valid_array(array):
        return array
    made = [None if data is None else data.decode("utf-8", "replace") for data in bytes_of(array)]
    return pa.array(made, pa.string())


@function("UTF8String.isValid", _STRING)
def _is_valid(call: Call, settings: ExpressionSettings) -> Kernel:
    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        if not array.null_count and is_valid_array(array):
            return pa.scalar(True)
        return pa.array([None if data is None else _is_utf8(data) for data in bytes_of(array)], pa.bool_())

    return Kernel(run=run, by_dictionary=True)


@function("UTF8String.makeValid", _STRING)
def _make_valid(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: valid_text(to_array(values[0], rows)), by_dictionary=True)


for _name in ("ExpressionImplUtils.validateUTF8String", "ExpressionImplUtils.tryValidateUTF8String"):

    @function(_name, _STRING)
    def _validate(call: Call, settings: ExpressionSettings) -> Kernel:
        """Return strings of UTF-8; the others raise Spark's error, or are NULL."""
        raises = call.name == "ExpressionImplUtils.validateUTF8String"

        def run(values: Sequence[Value], rows: int) -> Value:
            array = to_array(values[0], rows)
            if is_valid_array(array):
                return array
            found = bytes_of(array)
            wrong = next((data for data in found if data is not None and not _is_utf8(data)), b"")
            if raises:
                raise conditions.invalid_utf8(wrong)
            kept = [data if data is not None and _is_utf8(data) else None for data in found]
            return pa.array(kept, pa.binary()).cast(pa.string())

        return Kernel(run=run, can_raise=raises, by_dictionary=True)
