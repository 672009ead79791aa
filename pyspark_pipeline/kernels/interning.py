"""A persistent table of distinct strings, numbered in the order of their first occurrence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import BoolArray, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.buffers import allocate, allocate_zeros, grown, string_parts, validity, values
from pyspark_pipeline.kernels.group_kernels import gather_codes
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.murmur3 import is_valid
from pyspark_pipeline.kernels.tagged_slots import first_slot, has_tag, insert_new, number_of, slot_value, tag_of

_FIRST_SLOTS = 1024


@kernel(forceinline=True)
def _word(data: UInt8Array, at: int) -> np.uint64:
    """Read eight bytes in a form that the compiler combines to one load (unsigned indices never wrap around)."""
    index = np.uint64(at)
    return (
        np.uint64(data[index])
        | (np.uint64(data[index + np.uint64(1)]) << np.uint64(8))
        | (np.uint64(data[index + np.uint64(2)]) << np.uint64(16))
        | (np.uint64(data[index + np.uint64(3)]) << np.uint64(24))
        | (np.uint64(data[index + np.uint64(4)]) << np.uint64(32))
        | (np.uint64(data[index + np.uint64(5)]) << np.uint64(40))
        | (np.uint64(data[index + np.uint64(6)]) << np.uint64(48))
        | (np.uint64(data[index + np.uint64(7)]) << np.uint64(56))
    )


@kernel(forceinline=True)
def hash_string(data: UInt8Array, start: int, end: int) -> np.uint64:
    """Hash the bytes ``start`` ≤ i < ``end`` to 64 bits."""
    mixed = np.uint64(end - start) * np.uint64(0x9E3779B97F4A7C15)
    at = start
    while at + 8 <= end:
        mixed = (mixed ^ _word(data, at)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = mixed ^ (mixed >> np.uint64(32))
        at += 8
    if at < end and end - start >= 8:
        word = _word(data, end - 8)
    else:
        word = np.uint64(0)
        while at < end:
            word = (word << np.uint64(8)) | np.uint64(data[np.uint64(at)])
            at += 1
    mixed = (mixed ^ word) * np.uint64(0x9E3779B97F4A7C15)
    mixed = mixed ^ (mixed >> np.uint64(32))
    return mixed * np.uint64(0xD6E8FEB86659FD93)


@kernel(forceinline=True)
def _equal(left: UInt8Array, left_start: int, right: UInt8Array, right_start: int, length: int) -> bool:
    if length < 8:
        different = np.uint8(0)
        for i in range(length):
            different |= left[np.uint64(left_start + i)] ^ right[np.uint64(right_start + i)]
        return different == 0
    at = 0
    while at + 8 <= length:
        if _word(left, left_start + at) != _word(right, right_start + at):
            return False
        at += 8
    return _word(left, left_start + length - 8) == _word(right, right_start + length - 8)


@kernel(forceinline=True)  # three times as fast as inline="always"
def slot_of_string(
    data: UInt8Array, start: int, length: int, mixed: np.uint64, slots: Int64Array, shift: int, arena: UInt8Array,
    ends: Int64Array,
) -> int:  # fmt: skip
    """Return the slot (:mod:`~.tagged_slots`) of a string, whose hash is ``mixed``, or a free slot."""
    mask = slots.size - 1
    at = first_slot(mixed, shift)
    tag = tag_of(mixed)
    while True:
        held = slots[at]
        if held == 0:
            return at
        if has_tag(held, tag):
            other = number_of(held)
            if ends[other + 1] - ends[other] == length and _equal(arena, ends[other], data, start, length):
                return at
        at = (at + 1) & mask


@kernel
def _intern(
    offsets: Int32Array, data: UInt8Array, bitmap: UInt8Array, skip: int, row: int, slots: Int64Array, shift: int,
    arena: UInt8Array, ends: Int64Array, count: int, limit: int, ids: Int64Array,
) -> tuple[int, int]:  # fmt: skip
    """Number rows from ``row`` on; ``arena`` has space for all rows, ``slots`` and ``ends`` for ``limit`` strings."""
    while row < ids.size:
        if not is_valid(bitmap, skip, row):
            ids[row] = 0
            row += 1
            continue
        start = np.int64(offsets[row])
        length = np.int64(offsets[row + 1]) - start
        mixed = hash_string(data, start, start + length)
        at = slot_of_string(data, start, length, mixed, slots, shift, arena, ends)
        number = number_of(slots[at])
        if number < 0:
            if count >= limit:
                return row, count
            number = count
            end = ends[count]
            for i in range(length):
                arena[end + i] = data[start + i]
            ends[count + 1] = end + length
            slots[at] = slot_value(mixed, number)
            count += 1
        ids[row] = number
        row += 1
    return row, count


@kernel
def _rehash(arena: UInt8Array, ends: Int64Array, count: int, slots: Int64Array, shift: int) -> None:
    for i in range(count):
        insert_new(hash_string(arena, ends[i], ends[i + 1]), i, slots, shift)


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

    __slots__ = ("count", "_slots", "_shift", "_arena", "_ends", "_numbers")

    def __init__(self) -> None:
        self.count = 0
        self._arena = np.empty(1024, dtype=np.uint8)
        self._ends = np.zeros(_FIRST_SLOTS // 2 + 1, dtype=np.int64)
        self._numbers = DictionaryNumbers()
        self._make_slots(_FIRST_SLOTS)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._arena.nbytes + self._ends.nbytes + self._slots.nbytes

    def _make_slots(self, size: int) -> None:
        self._slots: Int64Array = allocate_zeros(size, np.int64)
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
            row, self.count = _intern(
                offsets, data, bitmap, skip, row,
                self._slots, self._shift, self._arena, self._ends, self.count, limit, ids,
            )  # fmt: skip
            if row == ids.size:
                return ids
            self._grow()

    def _reserve_bytes(self, more: int) -> None:
        needed = int(self._ends[self.count]) + more
        if needed > self._arena.size:
            self._arena = grown(self._arena, max(needed, 2 * self._arena.size))

    def _grow(self) -> None:
        size = self._slots.size * 4
        self._ends = grown(self._ends, size // 2 + 1)
        self._make_slots(size)
        _rehash(self._arena, self._ends, self.count, self._slots, self._shift)

    def strings(self, ids: Int64Array, valid: BoolArray, arrow_type: pa.DataType) -> pa.Array:
        """Build the column of the strings with the given numbers; NULL if ``valid`` (bool) is false."""
        total = int(_total_length(self._ends, ids, valid))
        if total > 2**31 - 1:
            raise OverflowError(f"{total} bytes of strings do not fit one column")
        offsets = np.zeros(ids.size + 1, dtype=np.int32)
        out = allocate(total, np.uint8)
        _copy_strings(self._arena, self._ends, ids, valid, offsets, out)
        mask = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
        buffers = [mask, pa.py_buffer(offsets), pa.py_buffer(out)]
        return pa.Array.from_buffers(arrow_type, ids.size, buffers)


def _same_memory(left: pa.Array, right: pa.Array) -> bool:
    if len(left) != len(right) or left.offset != right.offset:
        return False
    return all(
        (a.address if a is not None else 0) == (b.address if b is not None else 0)
        for a, b in zip(left.buffers()[1:], right.buffers()[1:], strict=True)
    )

