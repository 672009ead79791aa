"""A persistent table of distinct strings, numbered in the order of their first occurrence.

Each string has a *head*: its first seven bytes and, in the highest byte, its length, or 255 if it is longer. Strings of
up to seven bytes are equal if their heads are, longer ones seldom have equal heads.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import BoolArray, Int32Array, Int64Array, UInt8Array, UInt64Array
from pyspark_pipeline.kernels.buffers import (
    allocate,
    allocate_zeros,
    binary_array,
    grown,
    string_parts,
    validity,
    values,
)
from pyspark_pipeline.kernels.group_kernels import gather_codes
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.murmur3 import is_valid

_FIRST_SLOTS = 1024
#: The length of the longest short string, and that of a word, in bytes.
_SHORT, _WORD = np.uint64(7), np.uint64(8)
#: The highest byte of the head of a longer string.
_LONG = np.uint64(255 << 56)
_ONE = np.uint64(1)
_LOW = np.uint64(0xFFFFFFFF)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@kernel(forceinline=True)
def _word(data: UInt8Array, at: np.uint64) -> np.uint64:
    """Read eight bytes in a form that the compiler combines to one load (unsigned indices never wrap around)."""
    return (
        np.uint64(data[at])
        | (np.uint64(data[at + np.uint64(1)]) << np.uint64(8))
        | (np.uint64(data[at + np.uint64(2)]) << np.uint64(16))
        | (np.uint64(data[at + np.uint64(3)]) << np.uint64(24))
        | (np.uint64(data[at + np.uint64(4)]) << np.uint64(32))
        | (np.uint64(data[at + np.uint64(5)]) << np.uint64(40))
        | (np.uint64(data[at + np.uint64(6)]) << np.uint64(48))
        | (np.uint64(data[at + np.uint64(7)]) << np.uint64(56))
    )


@kernel
def number_strings(
    offsets: Int32Array, data: UInt8Array, bitmap: UInt8Array, skip: int, row: int, slots: UInt64Array, shift: int,
    arena: UInt8Array, ends: Int64Array, heads: UInt64Array, count: int, limit: int, missing: int, ids: Int64Array,
) -> tuple[int, int]:  # fmt: skip
    """Write the numbers of the strings from ``row`` on to ``ids``, of NULL ``missing``; return the next row and count.

    All of it is in one function: a call with arrays costs more than the work, because it counts their references.
    ``count`` strings are known. An unknown one gets the next number, and the kernel returns before it if there are
    ``limit``; ``arena`` has space for all rows, the other arrays for ``limit`` strings. If ``limit`` is negative, an
    unknown string has the number ``missing``, and only ``ids`` is written. A slot, of which each string has one, holds
    the higher half of a hash and the number + 1; 0 is a free one.
    """
    rows, known = np.uint64(ids.size), np.uint64(count)
    mask, right = np.uint64(slots.size - 1), np.uint64(shift)
    at_row = np.uint64(row)
    while at_row < rows:
        if not is_valid(bitmap, skip, np.int64(at_row)):
            ids[at_row] = missing
            at_row += _ONE
            continue
        start = np.uint64(offsets[at_row])
        length = np.uint64(offsets[at_row + _ONE]) - start
        if length > _SHORT:
            head = _word(data, start) | _LONG
        else:
            if start + _WORD <= np.uint64(data.size):
                head = _word(data, start) & ((_ONE << (_WORD * length)) - _ONE)
            else:
                head = np.uint64(0)
                for i in range(length):
                    head |= np.uint64(data[start + i]) << (_WORD * i)
            head |= length << np.uint64(56)
        mixed = head * _FACTOR
        mixed ^= mixed >> np.uint64(32)
        if length > _SHORT:
            at = _SHORT
            while at + _WORD < length:
                mixed = (mixed ^ _word(data, start + at)) * _FACTOR
                mixed ^= mixed >> np.uint64(32)
                at += _WORD
            mixed = (mixed ^ _word(data, start + length - _WORD)) * _FACTOR
            mixed ^= mixed >> np.uint64(32)
        mixed *= np.uint64(0xD6E8FEB86659FD93)
        slot = mixed >> right
        number = np.uint64(0)
        while True:
            held = slots[slot]
            if held == np.uint64(0):
                if limit < 0:
                    number = np.uint64(missing)
                    break
                if np.int64(known) >= limit:
                    return np.int64(at_row), np.int64(known)
                number = known
                end = np.uint64(ends[number])
                for i in range(length):
                    arena[end + i] = data[start + i]
                known += _ONE
                ends[known] = np.int64(end + length)
                heads[number] = head
                slots[slot] = (mixed & ~_LOW) | known
                break
            number = (held & _LOW) - _ONE
            if heads[number] == head:
                if length <= _SHORT:
                    break
                other = np.uint64(ends[number])
                if np.uint64(ends[number + _ONE]) - other == length:
                    at = _SHORT
                    while at + _WORD < length and _word(arena, other + at) == _word(data, start + at):
                        at += _WORD
                    last = length - _WORD
                    if at + _WORD >= length and _word(arena, other + last) == _word(data, start + last):
                        break
            slot = (slot + _ONE) & mask
        ids[at_row] = np.int64(number)
        at_row += _ONE
    return np.int64(at_row), np.int64(known)


@kernel
def _rehash(old: UInt64Array, slots: UInt64Array, shift: int) -> None:
    """Insert the strings of a table of slots into a larger one."""
    mask = np.uint64(slots.size - 1)
    for held in old:
        if held != np.uint64(0):
            slot = held >> np.uint64(shift)
            while slots[slot] != np.uint64(0):
                slot = (slot + _ONE) & mask
            slots[slot] = held


@kernel
def _copy_strings(
    arena: UInt8Array, ends: Int64Array, ids: Int64Array, valid: BoolArray, offsets: Int32Array, out: UInt8Array
) -> None:
    at = np.int64(0)
    for i in range(ids.size):
        if valid[i]:
            for j in range(ends[ids[i]], ends[ids[i] + 1]):
                out[at] = arena[j]
                at += 1
        offsets[i + 1] = at


@kernel
def _total_length(ends: Int64Array, ids: Int64Array, valid: BoolArray) -> int:
    total = np.int64(0)
    for i in range(ids.size):
        if valid[i]:
            total += ends[ids[i] + 1] - ends[ids[i]]
    return total


class DictionaryNumbers:
    """A cache of the numbers of the last dictionary's strings: successive chunks usually share a dictionary."""

    __slots__ = ("_dictionary", "_numbers")

    def __init__(self) -> None:
        self._dictionary: pa.Array | None = None
        self._numbers: Int64Array = np.empty(0, dtype=np.int64)

    def of(self, column: pa.Array, number: Callable[[pa.Array], Int64Array]) -> Int64Array:
        """Return the number of every row of a string, binary or dictionary column; undefined for NULL.

        ``number`` numbers a plain column; of a dictionary column it numbers only the dictionary, and only if it is new.
        """
        if not pa.types.is_dictionary(column.type):
            return number(column)
        dictionary, indices = column.dictionary, column.indices
        is_known = self._dictionary is not None and _same_memory(dictionary, self._dictionary)
        if dictionary.null_count or not (is_known or len(dictionary) <= 4 * len(column) + 1024):
            return number(column.dictionary_decode())
        if not is_known:
            self._numbers = number(dictionary)
            self._dictionary = dictionary
        out = allocate(len(column), np.int64)
        if len(dictionary):
            gather_codes(values(indices), *validity(indices), self._numbers, out)
        else:
            out[:] = 0
        return out


class StringInterner:
    """Numbers strings (or byte strings) from 0 on and keeps their bytes."""

    __slots__ = ("count", "_slots", "_shift", "_arena", "_ends", "_heads", "_numbers")

    def __init__(self) -> None:
        self.count = 0
        self._arena = np.empty(1024, dtype=np.uint8)
        self._ends = np.zeros(_FIRST_SLOTS // 2 + 1, dtype=np.int64)
        self._heads = np.zeros(_FIRST_SLOTS // 2, dtype=np.uint64)
        self._numbers = DictionaryNumbers()
        self._make_slots(_FIRST_SLOTS)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._arena.nbytes + self._ends.nbytes + self._heads.nbytes + self._slots.nbytes

    def _make_slots(self, size: int) -> None:
        self._slots: UInt64Array = allocate_zeros(size, np.uint64)
        self._shift = 64 - (size.bit_length() - 1)

    def intern(self, column: pa.Array) -> Int64Array:
        """Return the number of every row of a string, binary or dictionary column: int64, shape (rows,), 0 for NULL."""
        return self._numbers.of(column, self._intern_strings)

    def _intern_strings(self, column: pa.Array) -> Int64Array:
        offsets, data = string_parts(column)
        ids = allocate(len(column), np.int64)
        self._reserve_bytes(int(offsets[-1]) - int(offsets[0]))
        bitmap, skip = validity(column)
        row = 0
        while True:
            limit = self._slots.size // 2
            row, self.count = self._number(offsets, data, bitmap, skip, row, limit, 0, ids)
            if row == ids.size:
                return ids
            self._grow()

    def _number(
        self, offsets: Int32Array, data: UInt8Array, bitmap: UInt8Array, skip: int, row: int, limit: int, missing: int,
        ids: Int64Array,
    ) -> tuple[int, int]:  # fmt: skip
        """Call :func:`number_strings` on the table."""
        table = (self._slots, self._shift, self._arena, self._ends, self._heads, self.count)
        return number_strings(offsets, data, bitmap, skip, row, *table, limit, missing, ids)

    def _reserve_bytes(self, more: int) -> None:
        needed = int(self._ends[self.count]) + more
        if needed > self._arena.size:
            self._arena = grown(self._arena, max(needed, 2 * self._arena.size))

    def _grow(self) -> None:
        size = self._slots.size * 4
        self._ends = grown(self._ends, size // 2 + 1)
        self._heads = grown(self._heads, size // 2)
        old = self._slots
        self._make_slots(size)
        _rehash(old, self._slots, self._shift)

    def strings(self, ids: Int64Array, valid: BoolArray, arrow_type: pa.DataType) -> pa.Array:
        """Build the column of the strings with the given numbers; NULL if ``valid`` (bool) is false."""
        total = int(_total_length(self._ends, ids, valid))
        if total > 2**31 - 1:
            raise OverflowError(f"{total} bytes of strings do not fit one column")
        offsets = np.zeros(ids.size + 1, dtype=np.int32)
        out = allocate(total, np.uint8)
        _copy_strings(self._arena, self._ends, ids, valid, offsets, out)
        return binary_array(arrow_type, offsets, out, valid)


def _same_memory(left: pa.Array, right: pa.Array) -> bool:
    if len(left) != len(right) or left.offset != right.offset:
        return False
    return all(
        (a.address if a is not None else 0) == (b.address if b is not None else 0)
        for a, b in zip(left.buffers()[1:], right.buffers()[1:], strict=True)
    )

