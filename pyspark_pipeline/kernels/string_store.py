"""The strings of numbered groups, one of each group, compared with the strings of rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import BoolArray, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.buffers import allocate, binary_array, grown, string_parts, validity
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.murmur3 import is_valid
from pyspark_pipeline.kernels.words import FAR_BYTES, ROWS_AHEAD, load_word, prefetch

_WORD = np.uint64(8)
_ONE = np.uint64(1)


@kernel
def _append(
    offsets: Int32Array, data: UInt8Array, bitmap: UInt8Array, skip: int, rows: Int64Array, arena: UInt8Array,
    ends: Int64Array, valid: BoolArray, count: int,
) -> None:  # fmt: skip
    """Copy the strings of ``rows`` behind those of ``count`` groups; the arrays have space for all."""
    at = ends[count]
    for i in range(rows.size):
        row = rows[i]
        valid[count + i] = is_valid(bitmap, skip, row)
        if valid[count + i]:
            for j in range(offsets[row], offsets[row + 1]):
                arena[at] = data[j]
                at += 1
        ends[count + i + 1] = at


@kernel
def _all_equal(
    offsets: Int32Array, data: UInt8Array, bitmap: UInt8Array, skip: int, groups: Int64Array, arena: UInt8Array,
    ends: Int64Array, valid: BoolArray,
) -> bool:  # fmt: skip
    """Return whether every row has the string of its group."""
    stored, compared = np.uint64(arena.ctypes.data), np.uint64(data.ctypes.data)
    for first in range(0, groups.size, ROWS_AHEAD):
        stop = min(first + ROWS_AHEAD, groups.size)
        if arena.size >= FAR_BYTES:
            for row in range(first, stop):
                prefetch(stored + np.uint64(ends[groups[row]]))
        for row in range(first, stop):
            group = np.uint64(groups[row])
            if not is_valid(bitmap, skip, row):
                if valid[group]:
                    return False
                continue
            start, other = np.uint64(offsets[row]), np.uint64(ends[group])
            length = np.uint64(offsets[row + 1]) - start
            if not valid[group] or np.uint64(ends[group + _ONE]) - other != length:
                return False
            at = np.uint64(0)
            if length >= _WORD:
                last = length - _WORD
                while at < last:
                    if load_word(stored + other + at) != load_word(compared + start + at):
                        return False
                    at += _WORD
                if load_word(stored + other + last) != load_word(compared + start + last):
                    return False
            else:
                while at < length:
                    if arena[other + at] != data[start + at]:
                        return False
                    at += _ONE
    return True


class StringStore:
    """The strings (or byte strings) of the groups 0 … ``count`` − 1; NULL is one more value."""

    __slots__ = ("count", "_type", "_arena", "_ends", "_valid")

    def __init__(self, arrow_type: pa.DataType) -> None:
        self.count = 0
        self._type = arrow_type
        self._arena = np.empty(1024, dtype=np.uint8)
        self._ends = np.zeros(65, dtype=np.int64)
        self._valid = np.empty(64, dtype=np.bool_)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._arena.nbytes + self._ends.nbytes + self._valid.nbytes

    def append(self, column: pa.Array, rows: Int64Array) -> None:
        """Add a group for each of ``rows`` of a plain column, with its string."""
        offsets, data = string_parts(column)
        count = self.count + rows.size
        if count > self._valid.size:
            size = max(count, 2 * self._valid.size)
            self._ends, self._valid = grown(self._ends, size + 1), grown(self._valid, size)
        needed = int(self._ends[self.count]) + int(np.sum(offsets[rows + 1] - offsets[rows], dtype=np.int64))
        if needed > self._arena.size:
            self._arena = grown(self._arena, max(needed, 2 * self._arena.size))
        _append(offsets, data, *validity(column), rows, self._arena, self._ends, self._valid, self.count)
        self.count = count

    def truncate(self, count: int) -> None:
        """Forget the groups from ``count`` on."""
        self.count = count

    def all_equal(self, column: pa.Array, groups: Int64Array) -> bool:
        """Return whether every row of a plain column has the string of its group: ``groups``, shape (rows,)."""
        parts = string_parts(column)
        return bool(_all_equal(*parts, *validity(column), groups, self._arena, self._ends, self._valid))

    def strings(self, start: int, stop: int) -> pa.Array:
        """Build the column of the strings of the groups ``start`` ≤ g < ``stop``."""
        ends = self._ends[start : stop + 1] - self._ends[start]
        if ends[-1] > 2**31 - 1:
            raise OverflowError(f"{ends[-1]} bytes of strings do not fit one column")
        data = allocate(int(ends[-1]), np.uint8)
        data[:] = self._arena[self._ends[start] : self._ends[stop]]
        return binary_array(self._type, ends.astype(np.int32), data, self._valid[start:stop])
