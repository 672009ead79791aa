"""Functions of strings and bytes that no Arrow kernel computes: a Python function per distinct value.

To leave the engine for one expression costs 0.5 to 1 µs a value each way, for all columns of the row; a Python call per
distinct value is cheaper. Strings that are not UTF-8 are decoded with surrogates and encoded to the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.registry import Kernel, Value
from pyspark_pipeline.expressions.values import to_array


def python_values(array: pa.Array) -> list[Any]:
    """Return the values of an array as Python objects, None for NULL."""
    if not pa.types.is_string(array.type):
        return list(array.to_pylist())
    try:
        return list(array.to_pylist())
    except UnicodeDecodeError:
        raw = array.cast(pa.binary()).to_pylist()
        return [None if text is None else text.decode("utf-8", "surrogateescape") for text in raw]


#: The encoding of a surrogate, complete or not, which Java replaces as a whole.
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def decoded(data: bytes) -> str:
    """Return bytes as text as Java does, with U+FFFD for bytes that are not UTF-8."""
    return _SURROGATE.sub(b"\xff", data).decode("utf-8", "replace")


def java_text(array: pa.Array) -> pa.Array:
    """Return strings as Java decodes them, with U+FFFD for bytes that are not UTF-8."""
    try:
        array.validate(full=True)
        return array
    except pa.ArrowInvalid:
        raw = array.cast(pa.binary()).to_pylist()
        return pa.array([None if text is None else decoded(text) for text in raw], pa.string())


def arrow_values(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """Return Python objects, None for NULL, as an array."""
    try:
        return pa.array(values, type_)
    except UnicodeEncodeError:
        raw = [None if text is None else text.encode("utf-8", "surrogateescape") for text in values]
        return pa.array(raw, pa.binary()).view(pa.string())


#: An array whose first values have more distinct ones than this share is not dictionary-encoded.
_SAMPLE, _DISTINCT_SHARE = 256, 0.5


def by_distinct(array: pa.Array, convert: Callable[[pa.Array], pa.Array], *, maps_null: bool = False) -> pa.Array:
    """Return ``convert`` of an array, called for the distinct values alone if the first ones repeat.

    NULL remains NULL, unless ``maps_null``: then it is one of the values.
    """
    sample = array.slice(0, _SAMPLE)
    if pc.count_distinct(sample).as_py() > len(sample) * _DISTINCT_SHARE:
        return convert(array)
    encoded = array.dictionary_encode("encode" if maps_null else "mask")
    return convert(encoded.dictionary).take(encoded.indices)


def map_distinct(array: pa.Array, convert: Callable[[Any], Any], type_: pa.DataType) -> pa.Array:
    """Return ``convert`` of every value, called once per distinct value if values repeat; NULL remains NULL."""

    def convert_all(distinct: pa.Array) -> pa.Array:
        converted = [None if value is None else convert(value) for value in python_values(distinct)]
        return arrow_values(converted, type_)

    return by_distinct(array, convert_all)


def per_value(convert: Callable[[Any], Any], type_: pa.DataType) -> Kernel:
    """Build a kernel of the first argument; the others are constants that ``convert`` knows."""

    def run(values: Sequence[Value], rows: int) -> Value:
        return map_distinct(to_array(values[0], rows), convert, type_)

    return Kernel(run=run, by_dictionary=True)


def per_row(convert: Callable[..., Any], type_: pa.DataType) -> Kernel:
    """Build a kernel of several arguments; NULL if one of them is NULL."""

    def run(values: Sequence[Value], rows: int) -> Value:
        columns = [python_values(to_array(value, rows)) for value in values]
        converted = [None if None in row else convert(*row) for row in zip(*columns, strict=True)]
        return arrow_values(converted, type_)

    return Kernel(run=run, by_dictionary=True)
