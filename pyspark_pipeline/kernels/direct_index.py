"""The direct mode of the group table: column values are the digits of an index into an array of groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyspark_pipeline.kernels.arrays import Bitmap, Int64Array
from pyspark_pipeline.kernels.buffers import allocate_zeros
from pyspark_pipeline.kernels.group_kernels import add_to_index, find_direct, value_range
from pyspark_pipeline.kernels.key_columns import KeyColumn

MAX_SLOTS = 1 << 16
_LARGEST = np.int64(2**63 - 1)
_SMALLEST = np.int64(-(2**63))


class DirectIndex:
    """An array of groups. Digit 0 of a column is NULL, digit d is the value ``low + d − 1``."""

    mode = "direct"

    def __init__(self, columns: Sequence[KeyColumn], ranges: Sequence[tuple[int, int]] | None = None) -> None:
        self._columns = columns
        self._ranges = list(ranges) if ranges is not None else [(0, 0)] * len(columns)
        self._sizes = [high - low + 2 for low, high in self._ranges] if ranges is not None else [1] * len(columns)
        self._slots: Int64Array = np.full(int(np.prod(self._sizes, dtype=object)), -1, dtype=np.int64)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._slots.nbytes

    def find(
        self, parts: Sequence[Int64Array], bits: Sequence[Bitmap], count: int, groups: Int64Array, firsts: Int64Array
    ) -> int | None:
        """Write the group of every row; return the number of new groups, or None if a value has no digit."""
        index = self._index(parts, bits, groups.size)
        if index is None:
            return None
        return int(find_direct(index, self._slots, count, groups, firsts)) - count

    def _index(self, parts: Sequence[Int64Array], bits: Sequence[Bitmap], rows: int) -> Int64Array | None:
        if len(parts) != len(self._columns):
            return None
        index = allocate_zeros(rows, np.int64)
        stride = 1
        for values, (bitmap, skip), (low, _), size in zip(parts, bits, self._ranges, self._sizes, strict=True):
            if not add_to_index(values, bitmap, skip, low, size, stride, index):
                return None
            stride *= size
        return index

    def widened(
        self, parts: Sequence[Int64Array], bits: Sequence[Bitmap], stored: Sequence[Int64Array], valid: Sequence[Bitmap]
    ) -> DirectIndex | None:
        """Build an index for the ranges of the chunk and of the stored groups; None if it would be too large."""
        if len(parts) != len(self._columns):
            return None
        ranges = []
        slots = 1
        for column in range(len(parts)):
            low, high = value_range(parts[column], *bits[column], _LARGEST, _SMALLEST)
            low, high = value_range(stored[column], *valid[column], low, high)
            low, high = (0, 0) if high < low else (int(low), int(high))
            if stored[column].size:
                high += high - low
            slots *= high - low + 2
            if slots > MAX_SLOTS or high > int(_LARGEST) - 2:
                return None
            ranges.append((low, high))
        made = DirectIndex(self._columns, ranges)
        rows = stored[0].size
        index = made._index(stored, valid, rows)
        if index is None:
            raise AssertionError("stored groups do not fit the index made for them")
        made._slots[index] = np.arange(rows, dtype=np.int64)
        return made
