"""Operations on values that all families share: scalars, dictionaries, NULLs, scattering, numpy views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.registry import Kernel, Value
from pyspark_pipeline.kernels.arrays import Array, BoolArray
from pyspark_pipeline.kernels.buffers import bool_array
from pyspark_pipeline.kernels.decimal_words import bitmap_of, validity_of
from pyspark_pipeline.kernels.take import take

TRUE = pa.scalar(True)
FALSE = pa.scalar(False)


#: The largest offset of a string in an array.
_MOST_BYTES = 2**31 - 1


def decode(value: Value) -> Value:
    """Return the plain form of a dictionary-encoded array; any other value unchanged."""
    if isinstance(value, pa.DictionaryArray):
        return value.dictionary.take(value.indices)
    return value


def to_array(value: Value, rows: int) -> pa.Array:
    """Return ``value`` as an array of ``rows`` rows; raise ``ArrowCapacityError`` beyond 2 GiB of a string."""
    if isinstance(value, pa.Scalar):
        if isinstance(value, pa.BinaryScalar) and value.is_valid and value.as_buffer().size * rows > _MOST_BYTES:
            raise pa.ArrowCapacityError(f"{rows} times {value.as_buffer().size} bytes are more than 2 GiB")
        if pa.types.is_nested(value.type):  # of which pyarrow appends one after the other, twenty times as slowly
            return pa.repeat(value, 1).take(pa.array(np.zeros(rows, dtype=np.int32)))
        return pa.repeat(value, rows)
    return value


def is_valid(value: Value, rows: int) -> pa.BooleanArray:
    """Return true for the rows that are not NULL: a boolean array without NULLs, ``rows`` rows."""
    if isinstance(value, pa.Scalar):
        return pa.repeat(pa.scalar(value.is_valid), rows)
    return value.is_valid()


def has_nulls(value: Value) -> bool:
    """Return whether any row is NULL."""
    return not value.is_valid if isinstance(value, pa.Scalar) else value.null_count > 0


def truth(value: Value, rows: int) -> pa.BooleanArray:
    """Return a boolean value with NULL as false: a boolean array without NULLs, ``rows`` rows."""
    if isinstance(value, pa.Scalar):
        return pa.repeat(pa.scalar(value.as_py() is True), rows)
    return pc.fill_null(value, False) if value.null_count else value


def flags(value: pa.BooleanArray) -> BoolArray:
    """Return a boolean array without NULLs as numpy flags, shape (rows,)."""
    if not len(value):
        return np.zeros(0, dtype=np.bool_)
    bits = np.frombuffer(value.buffers()[1], dtype=np.uint8)
    end = value.offset + len(value)
    return np.unpackbits(bits[: (end + 7) // 8], bitorder="little")[value.offset : end].view(np.bool_)


def numbers(value: pa.Array) -> Array:
    """View the values of a fixed-width array as numpy, shape (rows,); values of NULL rows are undefined."""
    dtype = _NUMPY[value.type.id]
    data = value.buffers()[1]
    if data is None:
        data = pa.py_buffer(bytes(len(value) * dtype.itemsize))
        return np.frombuffer(data, dtype=dtype)
    view: Array = np.frombuffer(
        data, dtype=dtype, count=len(value), offset=value.offset * dtype.itemsize
    )
    view.flags.writeable = False
    return view


def numbers_or_zero(value: pa.Array) -> Array:
    """Return the values of a fixed-width array as numpy, shape (rows,), with 0 for NULL."""
    data = numbers(value)
    return np.where(flags(value.is_valid()), data, data.dtype.type(0)) if value.null_count else data


def number_kernel(
    compute: Callable[[Any], Any],
    type_: pa.DataType,
    argument: int = 0,
    read: Callable[[pa.Array], Any] = numbers,
    can_raise: bool = False,
) -> Kernel:
    """Build a kernel that computes fixed-width values of ``type_`` from those of one argument, as numpy arrays.

    Values of NULL rows are undefined, or 0 if ``read`` is :func:`numbers_or_zero`; their results are NULL.
    """

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[argument], rows)
        found = compute(read(array)).astype(_NUMPY[type_.id], copy=False)
        return from_numbers(found, type_, validity_of([array]))

    return Kernel(run=run, can_raise=can_raise)


def from_numbers(values: Array, type_: pa.DataType, validity: pa.Buffer | None) -> pa.Array:
    """Build an array of a fixed-width type over numpy values of the same width."""
    return pa.Array.from_buffers(type_, len(values), [validity, pa.py_buffer(np.ascontiguousarray(values))])


def set_null(value: Value, mask: pa.BooleanArray) -> Value:
    """Return ``value`` with NULL in the rows for which ``mask`` is true."""
    return keep(value, pc.invert(mask))


def keep(value: Value, mask: pa.BooleanArray) -> Value:
    """Return ``value`` with NULL in the rows for which ``mask`` is not true; numbers and times are not copied."""
    if not isinstance(value, pa.Array) or not _is_of_whole_bytes(value.type):
        return pc.if_else(mask, value, pa.scalar(None, value.type))
    valid = pc.fill_null(mask, False) if mask.null_count else mask
    if value.null_count:
        valid = pc.and_(valid, value.is_valid())
    width = value.type.bit_width // 8
    data = value.buffers()[1].slice(value.offset * width, len(value) * width)
    return pa.Array.from_buffers(value.type, len(value), [bitmap_of(valid), data], len(value) - valid.true_count)


def _is_of_whole_bytes(type_: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(type_) or (pa.types.is_primitive(type_) and type_.bit_width % 8 == 0))


def scatter(values: pa.Array, selection: pa.BooleanArray) -> pa.Array:
    """Scatter the values of a subset to the rows that ``selection`` selects; the other rows are NULL."""
    chosen = flags(selection)
    positions = np.cumsum(chosen, dtype=np.int32) - np.int32(1)
    return take(values, np.where(chosen, positions, np.int32(-1)), with_missing=True)


def map_dictionary(value: pa.DictionaryArray, apply: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Apply an element-wise function to the dictionary and return the result for every row.

    A string result remains dictionary-encoded, with each value once in its dictionary.
    """
    mapped = apply(value.dictionary)
    if pa.types.is_string(mapped.type):
        encoded = mapped.dictionary_encode()
        return pa.DictionaryArray.from_arrays(encoded.indices.take(value.indices), encoded.dictionary)
    if pa.types.is_boolean(mapped.type) and not mapped.null_count and not value.indices.null_count:
        return bool_array(flags(mapped)[numbers(value.indices)])  # bits cost Arrow several times as much
    return mapped.take(value.indices)


_NUMPY: dict[int, np.dtype[np.generic]] = {
    pa.int8().id: np.dtype(np.int8),
    pa.int16().id: np.dtype(np.int16),
    pa.int32().id: np.dtype(np.int32),
    pa.int64().id: np.dtype(np.int64),
    pa.float32().id: np.dtype(np.float32),
    pa.float64().id: np.dtype(np.float64),
    pa.date32().id: np.dtype(np.int32),
    pa.timestamp("us").id: np.dtype(np.int64),
}
