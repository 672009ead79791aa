"""Strings of join keys: numbered while the table is built, then only looked up."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.buffers import allocate, string_parts, validity
from pyspark_pipeline.kernels.interning import DictionaryNumbers, StringInterner, hash_string, slot_of_string
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.murmur3 import is_valid
from pyspark_pipeline.kernels.tagged_slots import number_of


@kernel
def find_strings(
    offsets: Int32Array, data: UInt8Array, bitmap: UInt8Array, skip: int, slots: Int64Array, shift: int,
    arena: UInt8Array, ends: Int64Array, ids: Int64Array,
) -> None:  # fmt: skip
    """Write the number of every string to ``ids``, −1 if it has none; write nothing else."""
    for row in range(ids.size):
        ids[row] = -1
        if is_valid(bitmap, skip, row):
            start = np.int64(offsets[row])
            length = np.int64(offsets[row + 1]) - start
            mixed = hash_string(data, start, start + length)
            ids[row] = number_of(slots[slot_of_string(data, start, length, mixed, slots, shift, arena, ends)])


class StringKeys(StringInterner):
    """An interner that also looks strings up without interning them; many threads may do so concurrently."""

    __slots__ = ()

    def find(self, column: pa.Array) -> Int64Array:
        """Return the number of every row of a string or binary column: int64, shape (rows,), −1 if unknown."""
        ids = allocate(len(column), np.int64)
        offsets, data = string_parts(column)
        find_strings(offsets, data, *validity(column), self._slots, self._shift, self._arena, self._ends, ids)
        return ids


class StringFinder:
    """Looks up the strings of one thread's chunks; caches the numbers of the last dictionary."""

    __slots__ = ("_keys", "_numbers")

    def __init__(self, keys: StringKeys) -> None:
        self._keys = keys
        self._numbers = DictionaryNumbers()

    def find(self, column: pa.Array) -> Int64Array:
        """Return the number of every row of a string, binary or dictionary column; −1 if unknown."""
        return self._numbers.of(column, self._keys.find)
