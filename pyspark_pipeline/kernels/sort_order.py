"""The order of rows by their sort keys: many bits of the keys at once, as plain 64-bit integers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.buffers import Array, values
from pyspark_pipeline.kernels.sort_fields import (
    Bits,
    SortColumn,
    number_fields,
    sort_fields,
    stored_bits,
    valid_flags,
)


def rank_rows(columns: Sequence[SortColumn], rows: int) -> Array:
    """Give each row the number of different rows before it in order: int64, equal for equal rows."""
    ranking = _Ranking(columns, rows)
    ranking.run()
    ranks = np.empty(rows, dtype=np.int64)
    ranks[ranking.order] = np.cumsum(ranking.starts) - 1
    return ranks


def order_rows(columns: Sequence[SortColumn], rows: int) -> Array:
    """Give the row numbers in order, stably: int64, shape (rows,)."""
    ranking = _Ranking(columns, rows)
    ranking.run()
    return ranking.order


class _Ranking:
    """Sorts rows by as many bits at once as fit beside a row's number into 64, by numpy's vectorised sort.

    Only rows that are still tied then look at further bits: ``tied`` are their numbers, ascending (None: all),
    ``group`` says with which others each is tied, and ``places`` are the places in ``order`` that are theirs,
    ascending. ``starts`` says of a place whether its row differs from the one before.
    """

    def __init__(self, columns: Sequence[SortColumn], rows: int) -> None:
        self.order = np.arange(rows, dtype=np.int64)
        self.starts = np.zeros(rows, dtype=np.bool_)
        self.starts[:1] = True
        self._fields = chain.from_iterable(map(_fields, columns)) if rows > 1 else iter(())
        self._field = next(self._fields, None)
        self._used = 0
        self._tied: Array | None = None
        self._places: Array | None = None
        self._group: Array | None = None
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
            self._settle(key, sorted_rows if self._tied is None else self._tied[sorted_rows])

    def _key(self, tag: int) -> Array:
        """Give the group and the next bits, all that fit above ``tag`` bits; a new array."""
        room = 64 - tag
        key: Array | None = None
        if self._group is not None:
            key = self._group
            room -= int(key.max()).bit_length()
        while room and self._field is not None:
            is_partial = self._field.width - self._used > room
            if is_partial and self._group is not None and key is not self._group:
                break  # the next step has more room for it
            bits = self._next_bits(room)
            room -= bits.width
            words = bits.of(None)
            key = words.copy() if key is None else (key << np.uint64(bits.width)) | words
        assert key is not None
        return key

    def _next_bits(self, room: int) -> Bits:
        """Take at most ``room`` bits of the tied rows from the current field."""
        field = self._field
        assert field is not None
        words, left = field.of(self._tied), field.width - self._used
        if self._used:
            words = words & np.uint64((1 << left) - 1)
        if left > room and self._group is not None:
            words, left = _dense(words)
        if left <= room:
            self._field, self._used = next(self._fields, None), 0
            return stored_bits(left, words)
        left = field.width - self._used
        if self._group is not None:
            words = field.of(self._tied)
        self._used += room
        return stored_bits(room, (words >> np.uint64(left - room)) & np.uint64((1 << room) - 1))

    def _settle(self, key: Array, rows: Array) -> None:
        """Put the tied rows to their places in the order of ``key``; find which are still tied."""
        differs = np.empty(key.size + 1, dtype=np.bool_)
        differs[0] = differs[-1] = True
        np.not_equal(key[1:], key[:-1], out=differs[1:-1])
        if self._places is None:
            self.order, self.starts = rows, differs[:-1]
        else:
            self.order[self._places] = rows
            self.starts[self._places] = differs[:-1]
        if self._field is None:
            return
        left = np.flatnonzero(~(differs[:-1] & differs[1:]))
        self._size = left.size
        self._places = left if self._places is None else self._places[left]
        group = np.cumsum(differs[left], dtype=np.uint64) - np.uint64(1)
        self._tied, self._group = _by_row(rows[left], group, self.order.size)


def _by_row(rows: Array, group: Array, size: int) -> tuple[Array, Array]:
    """Order row numbers under ``size``, all different, and the groups that belong to them: by row number."""
    if 8 * rows.size < size:
        order = np.argsort(rows)
        return rows[order], group[order]
    groups = np.empty(size, dtype=np.uint64)
    groups[rows] = group
    flags = np.zeros(size, dtype=np.bool_)
    flags[rows] = True
    ordered = np.flatnonzero(flags)
    return ordered, groups[ordered]


def _dense(words: Array) -> tuple[Array, int]:
    """Replace words by their ranks among the different ones; give the bits that takes."""
    order = np.argsort(words)
    differs = np.empty(words.size, dtype=np.bool_)
    differs[0] = False
    found = words[order]
    np.not_equal(found[1:], found[:-1], out=differs[1:])
    ranks = np.empty(words.size, dtype=np.uint64)
    ranks[order] = np.cumsum(differs, dtype=np.uint64)
    return ranks, max(1, int(ranks[order[-1]]).bit_length())


def _fields(column: SortColumn) -> Iterable[Bits]:
    """Make the fields of one key; one by dictionary has the ranks of its entries."""
    array = column.values
    if not isinstance(array, pa.DictionaryArray):
        return sort_fields(column)
    if array.dictionary.null_count:
        return sort_fields(SortColumn(array.dictionary_decode(), column.descending, column.nulls_first))
    valid = valid_flags(array)
    if valid is not None and not valid.any():
        return ()
    entries = array.dictionary
    codes = np.clip(values(array.indices), 0, len(entries) - 1)  # what stands under NULL may be anything
    return number_fields(rank_rows([SortColumn(entries, False, True)], len(entries))[codes], valid, column)
