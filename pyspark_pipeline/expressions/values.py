"""What every family does with values: spread scalars, decode and map dictionaries, blank and scatter rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.registry import Value

TRUE = pa.scalar(True)
FALSE = pa.scalar(False)


def decode(value: Value) -> Value:
    """Return the plain form of a dictionary-encoded array; everything else as it is."""
    if isinstance(value, pa.DictionaryArray):
        return value.dictionary.take(value.indices)
    return value


def to_array(value: Value, rows: int) -> pa.Array:
    """Return ``value`` as an array of ``rows`` rows."""
    if isinstance(value, pa.Scalar):
        return pa.repeat(value, rows)
    return value


def is_valid(value: Value, rows: int) -> pa.BooleanArray:
    """Return which rows are not NULL, as a boolean array without NULLs."""
    if isinstance(value, pa.Scalar):
        return pa.repeat(pa.scalar(value.is_valid), rows)
    return value.is_valid()


def has_nulls(value: Value) -> bool:
    """Return whether any row is NULL."""
    return not value.is_valid if isinstance(value, pa.Scalar) else value.null_count > 0


def truth(value: Value, rows: int) -> pa.BooleanArray:
    """Return which rows of a boolean value are true (NULL is not), as an array without NULLs."""
    if isinstance(value, pa.Scalar):
        return pa.repeat(pa.scalar(value.as_py() is True), rows)
    return pc.fill_null(value, False) if value.null_count else value


def flags(value: pa.BooleanArray) -> npt.NDArray[np.bool_]:
    """Return a boolean array without NULLs as numpy flags, shape (rows,)."""
    if not len(value):
        return np.zeros(0, dtype=np.bool_)
    bits = np.frombuffer(value.buffers()[1], dtype=np.uint8)
    end = value.offset + len(value)
    return np.unpackbits(bits[: (end + 7) // 8], bitorder="little")[value.offset : end].view(np.bool_)


def numbers(value: pa.Array) -> npt.NDArray[np.generic]:
    """View the values of a fixed-width array as numpy, shape (rows,); slots of NULLs hold anything."""
    dtype = _NUMPY[value.type.id]
    data = value.buffers()[1]
    if data is None:
        data = pa.py_buffer(bytes(len(value) * dtype.itemsize))
        return np.frombuffer(data, dtype=dtype)
    view: npt.NDArray[np.generic] = np.frombuffer(
        data, dtype=dtype, count=len(value), offset=value.offset * dtype.itemsize
    )
    view.flags.writeable = False
    return view


def from_numbers(values: npt.NDArray[np.generic], type_: pa.DataType, validity: pa.Buffer | None) -> pa.Array:
    """Make an array of a fixed-width type over numpy values of the same width."""
    return pa.Array.from_buffers(type_, len(values), [validity, pa.py_buffer(np.ascontiguousarray(values))])


def blank(value: Value, where: pa.BooleanArray) -> Value:
    """Turn the rows where ``where`` is true to NULL."""
    return pc.if_else(where, pa.scalar(None, value.type), value)


def scatter(values: pa.Array, selection: pa.BooleanArray) -> pa.Array:
    """Spread the values of a subset to the rows ``selection`` chose; the other rows are NULL."""
    chosen = flags(selection)
    positions = np.cumsum(chosen, dtype=np.int32) - np.int32(1)
    return values.take(pa.array(positions, mask=~chosen))


def map_dictionary(value: pa.DictionaryArray, apply: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Apply a value-by-value function to the dictionary and give every row its result.

    A string result stays dictionary encoded, with each value once in its dictionary.
    """
    mapped = apply(value.dictionary)
    if pa.types.is_string(mapped.type):
        encoded = mapped.dictionary_encode()
        return pa.DictionaryArray.from_arrays(encoded.indices.take(value.indices), encoded.dictionary)
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
