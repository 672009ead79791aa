"""Strings of join keys: numbered while the table is built, then only looked up."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import Int64Array
from pyspark_pipeline.kernels.buffers import allocate, string_parts, validity
from pyspark_pipeline.kernels.interning import DictionaryNumbers, StringInterner

#: The limit of a table that gets no more strings.
_NEVER = -1


class StringKeys(StringInterner):
    """An interner that also looks strings up without interning them; many threads may do so concurrently."""

    __slots__ = ()

    def find(self, column: pa.Array) -> Int64Array:
        """Return the number of every row of a string or binary column: int64, shape (rows,), −1 if unknown."""
        ids = allocate(len(column), np.int64)
        offsets, data = string_parts(column)
        self._number(offsets, data, *validity(column), 0, _NEVER, -1, ids)
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
