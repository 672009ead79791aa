"""Spark's serialized lists of one value of eight bytes: the value and what is the same in all of them.

Such lists are what a partial collecting aggregation makes of rows that it does not reduce. They are those of
:mod:`~.unsafe_arrays`, five words each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import Int32Array, Int64Array
from pyspark_pipeline.kernels.buffers import allocate, copied, string_parts
from pyspark_pipeline.kernels.jit import kernel

#: The bytes of a list of one value.
SINGLE_BYTES = 40
_WORDS = SINGLE_BYTES // 8
#: The place of the array, above its bytes.
_PLACE = (16 << 32) | 24


def words_of_singles(lists: pa.Array) -> tuple[Int32Array, Int64Array] | None:
    """Return the offsets and the words of a binary column that may have lists of one value only; None if not."""
    offsets, data = string_parts(lists)
    first, last = int(offsets[0]), int(offsets[-1])
    if lists.null_count or last - first != SINGLE_BYTES * len(lists):
        return None
    data = data[first:last]
    return offsets, (copied(data) if data.ctypes.data % 8 else data).view(np.int64)


@kernel
def single_bounds(offsets: Int32Array, words: Int64Array) -> tuple[bool, int, int]:
    """Return whether all are lists of one value, and the least and the greatest value, or 0."""
    low, high, other = 0, 0, 0
    for row in range(offsets.size - 1):
        at = np.uint64(_WORDS) * np.uint64(row)
        other |= words[at] | (words[at + np.uint64(1)] ^ _PLACE) | (words[at + np.uint64(2)] ^ 1)
        other |= words[at + np.uint64(3)] | (np.int64(offsets[row + 1]) - np.int64(offsets[row]) - SINGLE_BYTES)
        value = words[at + np.uint64(4)]
        low = min(low, value)
        high = max(high, value)
    return other == 0, low, high


@kernel
def read_singles(words: Int64Array, out: Any) -> None:
    """Write the values of lists of one value, cut to the width of ``out``, shape (rows,)."""
    for row in range(out.shape[0]):
        out[row] = words[np.uint64(_WORDS) * np.uint64(row) + np.uint64(4)]


@kernel
def _write_singles(values: Int64Array, words: Int64Array) -> None:
    for row in range(values.size):
        at = np.uint64(_WORDS) * np.uint64(row)
        words[at] = 0
        words[at + np.uint64(1)] = _PLACE
        words[at + np.uint64(2)] = 1
        words[at + np.uint64(3)] = 0
        words[at + np.uint64(4)] = values[row]


def singles_of(values: Int64Array) -> pa.Array:
    """Return the lists of one value each; binary."""
    words = allocate(_WORDS * values.size, np.int64)
    _write_singles(values, words)
    offsets = np.arange(0, SINGLE_BYTES * (values.size + 1), SINGLE_BYTES, dtype=np.int32)
    return pa.Array.from_buffers(pa.binary(), values.size, [None, pa.py_buffer(offsets), pa.py_buffer(words)])
