"""Strings as sort words: the bytes after the common prefix, mapped to dense codes and packed into 64 bits.

A byte's code is its rank among the bytes that occur, from 1; code 0 is the end of the string, so a prefix
sorts before longer strings, and the words have the order of the strings (unsigned bytes, Spark's
``UTF8String.compareTo``). A decimal digit needs four bits, so a word holds sixteen.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import Int32Array, Int64Array, UInt8Array, UInt16Array, UInt64Array
from pyspark_pipeline.kernels.buffers import allocate, string_parts, validity
from pyspark_pipeline.kernels.jit import kernel


@kernel
def _prefix_and_length(offsets: Int32Array, data: UInt8Array, bitmap: UInt8Array, skip: int) -> tuple[int, int]:
    """Return (length of the common prefix of all valid strings, length of the longest); (0, 0) if none is valid."""
    shared = -1
    longest = 0
    first = 0
    for row in range(offsets.size - 1):
        if bitmap.size and not (bitmap[(skip + row) >> 3] >> ((skip + row) & 7)) & 1:
            continue
        start, length = offsets[row], offsets[row + 1] - offsets[row]
        longest = max(longest, length)
        if shared < 0:
            first, shared = start, length
            continue
        shared = min(shared, length)
        at = 0
        while at < shared and data[start + at] == data[first + at]:
            at += 1
        shared = at
    return max(shared, 0), longest


@kernel
def _find_bytes(
    offsets: Int32Array, data: UInt8Array, bitmap: UInt8Array, skip: int, prefix: int, seen: UInt8Array
) -> None:
    for row in range(offsets.size - 1):
        if bitmap.size and not (bitmap[(skip + row) >> 3] >> ((skip + row) & 7)) & 1:
            continue
        for at in range(offsets[row] + prefix, offsets[row + 1]):
            seen[data[at]] = 1


@kernel
def _pack(
    offsets: Int32Array, data: UInt8Array, rows: Int64Array, first: int, codes: UInt16Array, width: int, chars: int,
    out: UInt64Array,
) -> None:  # fmt: skip
    """Pack ``chars`` codes from byte ``first`` on of each string of ``rows``; 0 after the end of the string."""
    shift = np.uint64(width)
    for i in range(rows.size):
        row = rows[i]
        at, end = offsets[row] + first, offsets[row + 1]
        word = np.uint64(0)
        for j in range(chars):
            word <<= shift
            if at + j < end:
                word |= np.uint64(codes[data[at + j]])
        out[i] = word


class TextWords:
    """The sort words of a plain string or binary column: ``count`` words of ``bits`` bits each.

    Words of NULL rows are undefined.
    """

    def __init__(self, column: pa.Array) -> None:
        self._offsets, self._data = string_parts(column)
        bitmap, skip = validity(column)
        prefix, longest = _prefix_and_length(self._offsets, self._data, bitmap, skip)
        seen = np.zeros(256, dtype=np.uint8)
        _find_bytes(self._offsets, self._data, bitmap, skip, prefix, seen)
        self._first = int(prefix)
        self._codes = np.cumsum(seen, dtype=np.int64).astype(np.uint16)
        self._width = max(1, int(self._codes[255]).bit_length())
        self._chars = max(1, min(64 // self._width, int(longest - prefix)))
        self.bits = self._width * self._chars
        self.count = -(-int(longest - prefix) // self._chars)

    def word(self, number: int, rows: Int64Array) -> UInt64Array:
        """Return word ``number`` of the strings of ``rows`` (int64 row numbers): uint64, shape (rows.size,)."""
        out = allocate(rows.size, np.uint64)
        first = self._first + number * self._chars
        _pack(self._offsets, self._data, rows, first, self._codes, self._width, self._chars, out)
        return out
