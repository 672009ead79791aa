"""A persistent hash table of grouping keys that maps the rows of chunks to group numbers.

It has three modes, chosen by the keys: *direct* (few values per column: a mixed-radix index into an
array), *word* (all columns packed into one 64-bit word), *words* (several words). A table starts in direct mode and
leaves it for good if the ranges become too wide. The values of every group are stored by column, so that
a change of mode rebuilds the index from them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import Bitmap, BoolArray, Int64Array, UInt8Array
from pyspark_pipeline.kernels.buffers import NO_BITS, allocate, grown, validity
from pyspark_pipeline.kernels.direct_index import DirectIndex
from pyspark_pipeline.kernels.group_kernels import valid_rows
from pyspark_pipeline.kernels.hash_index import HashIndex
from pyspark_pipeline.kernels.key_columns import key_column


class GroupTable:
    """Numbers distinct keys from 0 in the order of their first row. Columns have the given plain Arrow types."""

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self.count = 0
        self.columns = [key_column(t) for t in types]
        self._owners = [i for i, column in enumerate(self.columns) for _ in range(column.words)]
        self._values = [np.empty(64, dtype=np.int64) for _ in self._owners]
        self._valid = [np.empty(64, dtype=np.bool_) for _ in self.columns]
        self._index: DirectIndex | HashIndex = DirectIndex(self.columns)

    @property
    def mode(self) -> str:
        """The mode: direct, word or words."""
        return self._index.mode

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        stored = sum(part.nbytes for part in (*self._values, *self._valid))
        return stored + self._index.nbytes + sum(column.nbytes for column in self.columns)

    def has_capacity(self, rows: int) -> bool:
        """Return whether ``rows`` more groups fit without larger arrays."""
        return self.count + rows <= self._valid[0].size

    def group_ids(self, keys: Sequence[pa.Array]) -> Int64Array:
        """Return the group of every row, found or inserted: int64, shape (rows,). At least one key column."""
        return self.find(keys)[0]

    def find(self, keys: Sequence[pa.Array]) -> tuple[Int64Array, Int64Array]:
        """Return what :meth:`group_ids` does, and the first row of every inserted group: int64."""
        rows = len(keys[0])
        parts = [part for column, key in zip(self.columns, keys, strict=True) for part in column.encode(key)]
        bits = [_key_validity(key) for key in keys]
        groups = allocate(rows, np.int64)
        firsts = allocate(rows, np.int64)
        found = self._find(parts, bits, groups, firsts)
        if found:
            self._store(parts, bits, firsts[:found])
        return groups, firsts[:found]

    def _find(self, parts: list[Int64Array], bits: list[Bitmap], groups: Int64Array, firsts: Int64Array) -> int:
        found = self._index.find(parts, bits, self.count, groups, firsts)
        if found is None:
            self._index = self._rebuilt(parts, bits)
            found = self._index.find(parts, bits, self.count, groups, firsts)
        if found is None:
            raise AssertionError("an index built for a chunk does not hold it")
        return found

    def _rebuilt(self, parts: list[Int64Array], bits: list[Bitmap]) -> DirectIndex | HashIndex:
        """Build an index that holds the groups so far and accepts the chunk."""
        stored = [part[: self.count] for part in self._values]
        valid = [(packed_bits(v[: self.count]), 0) for v in self._valid]
        if isinstance(self._index, DirectIndex):
            wider = self._index.widened(parts, bits, stored, valid)
            if wider is not None:
                return wider
        with_nulls = any(b[0].size for b in (*bits, *valid))
        made = HashIndex(self.columns, with_nulls=with_nulls)
        made.insert(stored, valid, self.count)
        return made

    def _store(self, parts: list[Int64Array], bits: list[Bitmap], rows: Int64Array) -> None:
        start, self.count = self.count, self.count + rows.size
        if self.count > self._valid[0].size:
            size = max(self.count, 2 * self._valid[0].size)
            self._values = [grown(part, size) for part in self._values]
            self._valid = [grown(part, size) for part in self._valid]
        for stored, part in zip(self._values, parts, strict=True):
            np.take(part, rows, out=stored[start : self.count])
        for valid, (bitmap, skip) in zip(self._valid, bits, strict=True):
            if bitmap.size:
                valid_rows(bitmap, skip, rows, valid, start)
            else:
                valid[start : self.count] = True

    def keys(self, start: int, stop: int) -> list[pa.Array]:
        """Return the key columns of groups ``start`` ≤ g < ``stop``."""
        made = []
        at = 0
        for column, valid in zip(self.columns, self._valid, strict=True):
            parts = tuple(part[start:stop] for part in self._values[at : at + column.words])
            at += column.words
            made.append(column.decode(parts, valid[start:stop]))
        return made


def _key_validity(key: pa.Array) -> Bitmap:
    if pa.types.is_null(key.type):
        return np.zeros((len(key) + 7) // 8, dtype=np.uint8), 0
    return validity(key.indices if pa.types.is_dictionary(key.type) else key)


def packed_bits(valid: BoolArray) -> UInt8Array:
    """Pack bools to a bitmap; it is empty if all are true."""
    return NO_BITS if valid.all() else np.packbits(valid, bitorder="little")

