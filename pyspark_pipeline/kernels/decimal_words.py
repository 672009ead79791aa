"""Decimal128 arrays as 64-bit words: row ``i`` is (low word, high word) of a two's complement integer.

The views respect the offset of a sliced array and copy nothing. A scalar becomes a view of one row,
which the kernels read with step 0.
"""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array
from pyspark_pipeline.kernels.jit import frozen

# The step of a view: the same row for every row, or row by row.
ONE_ROW = np.uint64(0)
EACH_ROW = np.uint64(1)

_EXACT = Context(prec=80)
_LOW = (1 << 64) - 1


def unscaled(value: Decimal, scale: int) -> int:
    """Return ``value * 10**scale`` as an int; ``value`` must have at most ``scale`` fraction digits."""
    return int(value.scaleb(scale, _EXACT))


def split_words(value: int) -> tuple[int, int]:
    """Split a signed 128-bit int into its signed (low, high) words."""
    low = value & _LOW
    return (low - (1 << 64) if low >= 1 << 63 else low), value >> 64


def join_words(low: int, high: int) -> int:
    """Join signed (low, high) words into the signed 128-bit int."""
    return (int(low) & _LOW) | (int(high) << 64)


def words_of(value: Any) -> tuple[Int64Array, np.uint64]:
    """Return (words, step) of a decimal128 array (step ``EACH_ROW``) or valid scalar (``ONE_ROW``).

    ``words`` has shape (rows, 2); words of NULL rows are undefined.
    """
    if isinstance(value, pa.Scalar):
        words = np.array([split_words(unscaled(value.as_py(), value.type.scale))], dtype=np.int64)
        return frozen(words), ONE_ROW
    data = value.buffers()[1]
    if data is None:
        return frozen(np.zeros((len(value), 2), dtype=np.int64)), EACH_ROW
    view = np.frombuffer(data, dtype=np.int64, count=2 * len(value), offset=16 * value.offset)
    return frozen(view.reshape(-1, 2)), EACH_ROW


def new_words(rows: int) -> tuple[pa.Buffer, Int64Array]:
    """Allocate the words of ``rows`` decimals from Arrow's pool: (buffer, writable view of shape (rows, 2))."""
    buffer = pa.allocate_buffer(16 * rows)
    return buffer, np.frombuffer(buffer, dtype=np.int64).reshape(-1, 2)


def validity_of(values: list[Any]) -> pa.Buffer | None:
    """Return the bitmap (offset 0) of the rows that are valid in all arrays of ``values``; None if all rows are."""
    valid: pa.Array | None = None
    for value in values:
        if isinstance(value, pa.Array) and value.null_count:
            bits = value.is_valid()
            valid = bits if valid is None else pc.and_(valid, bits)
    return None if valid is None else bitmap_of(valid)


def bitmap_of(valid: pa.BooleanArray) -> pa.Buffer:
    """Return the bits of a boolean array without NULLs as a validity bitmap that starts at bit 0."""
    if valid.offset % 8:
        valid = pc.invert(pc.invert(valid))
    data = valid.buffers()[1]
    return data.slice(valid.offset // 8) if valid.offset else data


def valid_flags(validity: pa.Buffer | None, rows: int) -> BoolArray:
    """Unpack a validity bitmap to one bool per row."""
    if validity is None:
        return np.ones(rows, dtype=np.bool_)
    packed = np.frombuffer(validity, dtype=np.uint8)
    return np.unpackbits(packed, count=rows, bitorder="little").view(np.bool_)


def pack_flags(flags: BoolArray) -> pa.Buffer:
    """Pack one bool per row to a validity bitmap."""
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


def decimal_array(type_: pa.DataType, rows: int, validity: pa.Buffer | None, data: pa.Buffer) -> pa.Array:
    """Build the decimal128 array over ``data`` without a copy."""
    return pa.Array.from_buffers(type_, rows, [validity, data])
