"""Strings of a join's keys: numbered while the table is built, only looked up afterwards."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.buffers import Array, allocate, string_parts, validity, values
from pyspark_pipeline.kernels.group_kernels import gather_codes
from pyspark_pipeline.kernels.interning import StringInterner, _equal, _hash, _same_memory
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.murmur3 import is_valid

UNKNOWN = -1


@kernel
def find_strings(offsets, data, bitmap, skip, slots, shift, arena, ends, ids):  # type: ignore[no-untyped-def]
    """Write the number of every string, −1 for one that is not held; changes nothing else."""
    mask = slots.size - 1
    for row in range(ids.size):
        ids[row] = -1
        if not is_valid(bitmap, skip, row):
            continue
        start = np.int64(offsets[row])
        length = np.int64(offsets[row + 1]) - start
        mixed = _hash(data, start, start + length)
        at = np.int64(mixed >> np.uint64(shift))
        tag = np.int64(mixed & np.uint64(0x7FFFFFFF)) << 32
        while True:
            held = slots[at]
            if held == 0:
                break
            if (held & ~np.int64(0xFFFFFFFF)) == tag:
                other = (held & np.int64(0xFFFFFFFF)) - 1
                if ends[other + 1] - ends[other] == length and _equal(arena, ends[other], data, start, length):
                    ids[row] = other
                    break
            at = (at + 1) & mask


class StringKeys(StringInterner):
    """An interner that can also look strings up without taking them in; many threads may do that at once."""

    __slots__ = ()

    def find(self, column: pa.Array) -> Array:
        """Give the number of every row of a string or binary column; int64, shape (rows,); −1 where unknown."""
        ids = allocate(len(column), np.int64)
        offsets, data = string_parts(column)
        find_strings(offsets, data, *validity(column), self._slots, self._shift, self._arena, self._ends, ids)
        return ids


class StringFinder:
    """Looks the strings of one thread's chunks up; remembers the numbers of the last dictionary."""

    __slots__ = ("_keys", "_dictionary", "_dictionary_ids")

    def __init__(self, keys: StringKeys) -> None:
        self._keys = keys
        self._dictionary: pa.Array | None = None
        self._dictionary_ids: Array = np.empty(0, dtype=np.int64)

    def find(self, column: pa.Array) -> Array:
        """Give the number of every row of a string, binary or dictionary column; −1 where unknown."""
        if not pa.types.is_dictionary(column.type):
            return self._keys.find(column)
        if not self._pays(column):
            return self._keys.find(column.dictionary_decode())
        dictionary, indices = column.dictionary, column.indices
        if self._dictionary is None or not _same_memory(dictionary, self._dictionary):
            self._dictionary_ids = self._keys.find(dictionary)
            self._dictionary = dictionary
        out = allocate(len(column), np.int64)
        if len(dictionary):
            gather_codes(values(indices), *validity(indices), self._dictionary_ids, out)
        else:
            out[:] = UNKNOWN
        return out

    def _pays(self, column: pa.DictionaryArray) -> bool:
        known = self._dictionary is not None and _same_memory(column.dictionary, self._dictionary)
        return known or len(column.dictionary) <= 4 * len(column) + 1024
