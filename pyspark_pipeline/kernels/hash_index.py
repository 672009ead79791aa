"""The hash modes of the group table: columns packed into one word or several, found by open addressing.

Columns narrower than 64 bits share words (value − bias + 1; 0 is NULL). A 64-bit column has a word of its
own and, once the table holds a NULL in such a column, a NULL bit in a shared word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pyspark_pipeline.kernels.arrays import Array, Bitmap, Int64Array
from pyspark_pipeline.kernels.buffers import allocate_zeros, grown
from pyspark_pipeline.kernels.group_kernels import (
    find_many,
    find_one,
    insert_many,
    insert_one,
    pack_narrow,
    pack_null_bit,
    pack_wide,
)
from pyspark_pipeline.kernels.key_columns import KeyColumn

_FIRST_SLOTS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class _BitField:
    """The bits of a word that hold one part of a column: word, shift; ``shift`` −1 is the whole word."""

    part: int
    column: int
    word: int
    shift: int = -1


class _Layout:
    """The assignment of columns to bit fields of words."""

    def __init__(self, columns: Sequence[KeyColumn], with_nulls: bool) -> None:
        self.fields: list[_BitField] = []
        self.null_bits: list[_BitField] = []
        self.width = 0
        self._free: list[int] = []
        part = 0
        for number, column in enumerate(columns):
            if column.bits < 64:
                self.fields.append(self._narrow(part, number, column.bits))
            else:
                for i in range(column.words):
                    self.fields.append(_BitField(part=part + i, column=number, word=self.width))
                    self.width += 1
                    self._free.append(0)
                if with_nulls:
                    self.null_bits.append(self._narrow(part, number, 1))
            part += column.words

    def _narrow(self, part: int, column: int, bits: int) -> _BitField:
        for word, free in enumerate(self._free):
            if free >= bits:
                self._free[word] -= bits
                return _BitField(part=part, column=column, word=word, shift=64 - free)
        self._free.append(64 - bits)
        self.width += 1
        return _BitField(part=part, column=column, word=self.width - 1, shift=0)


class HashIndex:
    """Open addressing over packed words; at most half of the slots are used."""

    def __init__(self, columns: Sequence[KeyColumn], *, with_nulls: bool) -> None:
        self._columns = columns
        self._with_nulls = with_nulls
        self._layout = _Layout(columns, with_nulls)
        self._wide = [field.column for field in self._layout.fields if field.shift < 0]
        self._keys: Int64Array = np.empty(0, dtype=np.int64)
        self._make_slots(_FIRST_SLOTS)

    @property
    def mode(self) -> str:
        return "word" if self._layout.width == 1 else "words"

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._slots.nbytes + self._keys.nbytes

    def _make_slots(self, size: int) -> None:
        self._size = size
        log = size.bit_length() - 1
        one = self._layout.width == 1
        self._slots: Array = allocate_zeros(size, np.int32 if one else np.int64)
        self._shift = (64 + 3 if one else 64) - log

    def find(
        self, parts: Sequence[Int64Array], bits: Sequence[Bitmap], count: int, groups: Int64Array, firsts: Int64Array
    ) -> int | None:
        """Write the group of every row; return the number of new groups, or None if the layout lacks NULL bits."""
        if not self._with_nulls and any(bits[column][0].size for column in self._wide):
            return None
        words = self._pack(parts, bits, groups.size)
        return self._find_words(words, count, groups, firsts)

    def insert(self, parts: Sequence[Int64Array], bits: Sequence[Bitmap], count: int) -> None:
        """Insert groups 0 … count − 1, which are distinct, into an empty index."""
        size = self._size
        while size < 4 * count:
            size *= 4
        words = self._pack(parts, bits, count)
        self._reserve_keys(count)
        self._keys[: words.size] = words
        self._insert_groups(size, count)

    def _insert_groups(self, size: int, count: int) -> None:
        self._make_slots(size)
        if self._layout.width == 1:
            insert_one(self._keys, count, self._slots, self._shift)
        else:
            insert_many(self._keys, self._layout.width, count, self._slots, self._shift)

    def _find_words(self, words: Int64Array, count: int, groups: Int64Array, firsts: Int64Array) -> int:
        row, found, rows = 0, 0, groups.size
        width = self._layout.width
        while row < rows:
            limit = self._size // 2
            self._reserve_keys(min(limit, count + rows - row))
            if width == 1:
                row, count, found = find_one(
                    words, row, self._slots, self._shift, self._keys, count, limit, groups, firsts, found
                )
            else:
                row, count, found = find_many(
                    words, width, row, rows, self._slots, self._shift, self._keys, count, limit, groups, firsts, found
                )
            if row < rows:
                self._insert_groups(self._size * 4, count)
        return found

    def _reserve_keys(self, groups: int) -> None:
        needed = groups * self._layout.width
        if needed > self._keys.size:
            self._keys = grown(self._keys, max(needed, 2 * self._keys.size))

    def _pack(self, parts: Sequence[Int64Array], bits: Sequence[Bitmap], rows: int) -> Int64Array:
        layout = self._layout
        only = layout.fields[0]
        if layout.width == 1 and only.shift < 0 and not bits[0][0].size:
            return parts[0]
        words = allocate_zeros(rows * layout.width, np.int64)
        for field in layout.fields:
            values, (bitmap, skip) = parts[field.part], bits[field.column]
            if field.shift < 0:
                pack_wide(values, bitmap, skip, words, field.word, layout.width)
            else:
                bias = self._columns[field.column].bias
                pack_narrow(values, bitmap, skip, bias, field.shift, words, field.word, layout.width)
        for field in layout.null_bits:
            bitmap, skip = bits[field.column]
            if bitmap.size:
                pack_null_bit(bitmap, skip, field.shift, words, field.word, layout.width, rows)
        return words
