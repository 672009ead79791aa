"""Ordering of rows by their sort keys: many key bits at once, as plain 64-bit integers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import Int64Array, UInt64Array
from pyspark_pipeline.kernels.buffers import values
from pyspark_pipeline.kernels.sort_fields import (
    SortColumn,
    SortField,
    number_fields,
    sort_fields,
    stored_field,
    valid_flags,
)


def rank_rows(columns: Sequence[SortColumn], rows: int) -> Int64Array:
    """Return the dense rank of each row, the number of distinct rows that sort before it: int64, shape (rows,)."""
    ranking = _Ranking(columns, rows)
    ranking.run()
    ranks = np.empty(rows, dtype=np.int64)
    ranks[ranking.order] = np.cumsum(ranking.starts) - 1
    return ranks


def order_rows(columns: Sequence[SortColumn], rows: int) -> Int64Array:
    """Return the row numbers in stable sort order: int64, shape (rows,)."""
    ranking = _Ranking(columns, rows)
    ranking.run()
    return ranking.order


class _Ranking:
    """Sorts rows by as many bits at once as fit beside a row number into 64, by numpy's vectorised sort.

    Only rows that are still tied are then sorted by further bits: ``tied`` are their numbers, ascending (None: all),
    ``group`` numbers the groups of tied rows, and ``positions`` are their positions in ``order``, ascending.
    ``starts`` is true for a position in ``order`` whose row differs from the previous one.
    """

    def __init__(self, columns: Sequence[SortColumn], rows: int) -> None:
        self.order = np.arange(rows, dtype=np.int64)
        self.starts = np.zeros(rows, dtype=np.bool_)
        self.starts[:1] = True
        self._fields = chain.from_iterable(map(_fields, columns)) if rows > 1 else iter(())
        self._field = next(self._fields, None)
        self._used = 0
        self._tied: Int64Array | None = None
        self._positions: Int64Array | None = None
        self._group: UInt64Array | None = None
        self._size = rows

    def run(self) -> None:
        """Sort by all fields."""
        while self._field is not None and self._size:
            tag = (self._size - 1).bit_length()
            key = self._key(tag)
            key <<= np.uint64(tag)
            key |= np.arange(self._size, dtype=np.uint64)
            key.sort()
            sorted_rows = (key & np.uint64((1 << tag) - 1)).view(np.int64)
            key >>= np.uint64(tag)
            self._place_rows(key, sorted_rows if self._tied is None else self._tied[sorted_rows])

    def _key(self, tag: int) -> UInt64Array:
        """Return a new array of the group and of the next bits, as many as fit above ``tag`` bits."""
        free_bits = 64 - tag
        key: UInt64Array | None = None
        if self._group is not None:
            key = self._group
            free_bits -= int(key.max()).bit_length()
        while free_bits and self._field is not None:
            is_partial = self._field.width - self._used > free_bits
            if is_partial and self._group is not None and key is not self._group:
                break  # the next pass has more free bits for it
            field = self._next_bits(free_bits)
            free_bits -= field.width
            words = field.words(None)
            key = words.copy() if key is None else (key << np.uint64(field.width)) | words
        assert key is not None
        return key

    def _next_bits(self, free_bits: int) -> SortField:
        """Consume at most ``free_bits`` bits of the current field; return them for the tied rows."""
        field = self._field
        assert field is not None
        words, left = field.words(self._tied), field.width - self._used
        if self._used:
            words = words & np.uint64((1 << left) - 1)
        if left > free_bits and self._group is not None:
            words, left = _dense(words)
        if left <= free_bits:
            self._field, self._used = next(self._fields, None), 0
            return stored_field(left, words)
        left = field.width - self._used
        if self._group is not None:
            words = field.words(self._tied)
        self._used += free_bits
        return stored_field(free_bits, (words >> np.uint64(left - free_bits)) & np.uint64((1 << free_bits) - 1))

    def _place_rows(self, key: UInt64Array, rows: Int64Array) -> None:
        """Write the tied rows to their positions in the order of ``key``; find the rows that are still tied."""
        differs = np.empty(key.size + 1, dtype=np.bool_)
        differs[0] = differs[-1] = True
        np.not_equal(key[1:], key[:-1], out=differs[1:-1])
        if self._positions is None:
            self.order, self.starts = rows, differs[:-1]
        else:
            self.order[self._positions] = rows
            self.starts[self._positions] = differs[:-1]
        if self._field is None:
            return
        left = np.flatnonzero(~(differs[:-1] & differs[1:]))
        self._size = left.size
        self._positions = left if self._positions is None else self._positions[left]
        group = np.cumsum(differs[left], dtype=np.uint64) - np.uint64(1)
        self._tied, self._group = _by_row(rows[left], group, self.order.size)


def _by_row(rows: Int64Array, group: UInt64Array, size: int) -> tuple[Int64Array, UInt64Array]:
    """Sort distinct row numbers below ``size``, and their groups with them, by row number."""
    if 8 * rows.size < size:
        order = np.argsort(rows)
        return rows[order], group[order]
    groups = np.empty(size, dtype=np.uint64)
    groups[rows] = group
    flags = np.zeros(size, dtype=np.bool_)
    flags[rows] = True
    ordered = np.flatnonzero(flags)
    return ordered, groups[ordered]


def _dense(words: UInt64Array) -> tuple[UInt64Array, int]:
    """Return the dense ranks of words, and the number of bits of the largest rank."""
    order = np.argsort(words)
    differs = np.empty(words.size, dtype=np.bool_)
    differs[0] = False
    found = words[order]
    np.not_equal(found[1:], found[:-1], out=differs[1:])
    ranks = np.empty(words.size, dtype=np.uint64)
    ranks[order] = np.cumsum(differs, dtype=np.uint64)
    return ranks, max(1, int(ranks[order[-1]]).bit_length())


def _fields(column: SortColumn) -> Iterable[SortField]:
    """Return the fields of one key; a dictionary-encoded key has the ranks of its dictionary's values."""
    array = column.values
    if not isinstance(array, pa.DictionaryArray):
        return sort_fields(column)
    if array.dictionary.null_count:
        return sort_fields(SortColumn(array.dictionary_decode(), column.descending, column.nulls_first))
    valid = valid_flags(array)
    if valid is not None and not valid.any():
        return ()
    dictionary = array.dictionary
    codes = np.clip(values(array.indices), 0, len(dictionary) - 1)  # the code of a NULL row is undefined
    return number_fields(rank_rows([SortColumn(dictionary, False, True)], len(dictionary))[codes], valid, column)
