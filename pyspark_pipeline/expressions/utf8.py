"""Strings whose bytes may not be UTF-8 (Spark: IsValidUTF8, MakeValidUTF8, ValidateUTF8, TryValidateUTF8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.registry import Builder, ExpressionSettings, Kernel, Value, case, function
from pyspark_pipeline.expressions.values import to_array
from pyspark_pipeline.plan.expr import Call


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_valid_array(array: pa.Array) -> bool:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _bytes(array: pa.Array) -> list[bytes | None]:
    return list(array.cast(pa.binary()).to_pylist())


#: The call of a method of a string that is bytes.
_OF_BYTES = "{}(Cast)"
_STRING, _BYTES = [case(["string"])], [case(["binary"])]


def _both(name: str) -> Callable[[Builder], Builder]:
    """Register a function of strings for bytes too, which Spark reads as a string without a check."""

    def register(build: Builder) -> Builder:
        return function(_OF_BYTES.format(name), _BYTES)(function(name, _STRING)(build))

    return register


def _strings(value: Value, rows: int) -> pa.Array:
    array = to_array(value, rows)
    return array.view(pa.string()) if pa.types.is_binary(array.type) else array


def valid_text(array: pa.Array) -> pa.Array:
    """Replace each longest part that begins a character, or byte that does not, by U+FFFD."""
    if _is_valid_array(array):
        return array
    made = [None if data is None else data.decode("utf-8", "replace") for data in _bytes(array)]
    return pa.array(made, pa.string())


@_both("UTF8String.isValid")
def _is_valid(call: Call, settings: ExpressionSettings) -> Kernel:
    def run(values: Sequence[Value], rows: int) -> Value:
        array = _strings(values[0], rows)
        if not array.null_count and _is_valid_array(array):
            return pa.scalar(True)
        return pa.array([None if data is None else _is_utf8(data) for data in _bytes(array)], pa.bool_())

    return Kernel(run=run, by_dictionary=True)


@_both("UTF8String.makeValid")
def _make_valid(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: valid_text(_strings(values[0], rows)), by_dictionary=True)


for _name in ("ExpressionImplUtils.validateUTF8String", "ExpressionImplUtils.tryValidateUTF8String"):

    @_both(_name)
    def _validate(call: Call, settings: ExpressionSettings) -> Kernel:
        """Return strings of UTF-8; the others raise Spark's error, or are NULL."""
        raises = call.name.startswith("ExpressionImplUtils.validateUTF8String")

        def run(values: Sequence[Value], rows: int) -> Value:
            array = _strings(values[0], rows)
            if _is_valid_array(array):
                return array
            found = _bytes(array)
            wrong = next((data for data in found if data is not None and not _is_utf8(data)), b"")
            if raises:
                raise conditions.invalid_utf8(wrong)
            kept = [data if data is not None and _is_utf8(data) else None for data in found]
            return pa.array(kept, pa.binary()).cast(pa.string())

        return Kernel(run=run, can_raise=raises, by_dictionary=True)
