"""Kernels of the group table: key words to group numbers, by direct index or by open addressing.

``find_one`` and ``find_many`` stop early if the table has ``limit`` groups and return the row to continue from
after the caller has grown the table. A row equal to the previous row has the same group without a probe, which
makes sorted and clustered input cheap. New groups are reported by the first row that has their key.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import BoolArray, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.murmur3 import is_valid
from pyspark_pipeline.kernels.tagged_slots import (
    equal_words,
    first_slot,
    hash_words,
    home_slot,
    insert_new,
    number_of,
    prefetch_rows,
    slot_of_words,
    slot_value,
)
from pyspark_pipeline.kernels.words import FAR_BYTES, ROWS_AHEAD, prefetch
from pyspark_pipeline.kernels.wrapping import wrapping_subtract


@kernel
def add_to_index(
    values: Int64Array, bitmap: UInt8Array, skip: int, low: int, size: int, stride: int, index: Int64Array
) -> bool:
    """Add a column's digit times ``stride`` to a direct index; the digit is 0 for NULL, else value − low + 1.

    Return False at the first value whose digit is not below ``size``.
    """
    for row in range(index.size):
        if is_valid(bitmap, skip, row):
            distance = wrapping_subtract(values[row], low)
            if values[row] < low or distance < 0 or distance >= size - 1:
                return False
            index[row] += (distance + 1) * stride
    return True


@kernel
def value_range(values: Int64Array, bitmap: UInt8Array, skip: int, low: int, high: int) -> tuple[int, int]:
    """Return (low, high) extended to all valid values."""
    for row in range(values.size):
        if is_valid(bitmap, skip, row):
            value = values[row]
            if value < low:
                low = value
            if value > high:
                high = value
    return low, high


@kernel
def pack_narrow(
    values: Int64Array, bitmap: UInt8Array, skip: int, bias: int, shift: int, words: Int64Array, index: int, width: int
) -> None:
    """Write a column's biased values (0 for NULL) to the bits from ``shift`` on of word ``index`` of every row."""
    for row in range(values.size):
        if is_valid(bitmap, skip, row):
            words[row * width + index] |= (values[row] - bias + 1) << shift


@kernel
def pack_wide(values: Int64Array, bitmap: UInt8Array, skip: int, words: Int64Array, index: int, width: int) -> None:
    """Write a column's values (0 for NULL) to word ``index`` of every row."""
    for row in range(values.size):
        if is_valid(bitmap, skip, row):
            words[row * width + index] = values[row]


@kernel
def pack_null_bit(
    bitmap: UInt8Array, skip: int, shift: int, words: Int64Array, index: int, width: int, rows: int
) -> None:
    """Set bit ``shift`` of word ``index`` of every row that is NULL."""
    for row in range(rows):
        if not is_valid(bitmap, skip, row):
            words[row * width + index] |= np.int64(1) << shift


@kernel
def find_direct(index: Int64Array, slots: Int64Array, count: int, groups: Int64Array, firsts: Int64Array) -> int:
    """Find or insert the groups of rows in ``slots`` (index to group, −1 is free); return the new number of groups."""
    start = count
    for row in range(index.size):
        group = slots[index[row]]
        if group < 0:
            group = count
            slots[index[row]] = group
            firsts[count - start] = row
            count += 1
        groups[row] = group
    return count


@kernel
def find_one(
    words: Int64Array, row: int, slots: Int32Array, shift: int, keys: Int64Array, count: int, limit: int,
    groups: Int64Array, firsts: Int64Array, found: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Find or insert the groups of rows from ``row`` on by one-word keys.

    ``slots``: group + 1 (0 is free), a power of two in number; ``shift``: 64 + 3 − log2(slots); ``keys``: the word
    of every group. Return the row reached, the number of groups, and the number of new groups of this chunk.
    """
    mask = slots.size - 1
    rows = words.size
    group = np.int64(-1)
    last = np.int64(0)
    is_far = 4 * slots.size >= FAR_BYTES
    slots_at, keys_at = np.uint64(slots.ctypes.data), np.uint64(keys.ctypes.data)
    while row < rows:
        stop = min(row + ROWS_AHEAD, rows)
        if is_far:
            for next_row in range(row, stop):
                prefetch(slots_at + np.uint64(4 * home_slot(words[next_row], shift, 3)))
            for next_row in range(row, stop):
                prefetch(keys_at + np.uint64(8 * np.int64(slots[home_slot(words[next_row], shift, 3)])) - np.uint64(8))
        while row < stop:
            key = words[row]
            if group < 0 or key != last:
                at = home_slot(key, shift, 3)
                while True:
                    held = np.int64(slots[at])
                    if held == 0:
                        if count >= limit:
                            return row, count, found
                        group = count
                        slots[at] = group + 1
                        keys[group] = key
                        firsts[found] = row
                        found += 1
                        count += 1
                        break
                    if keys[held - 1] == key:
                        group = held - 1
                        break
                    at = (at + 1) & mask
                last = key
            groups[row] = group
            row += 1
    return row, count, found


@kernel
def insert_one(keys: Int64Array, count: int, slots: Int32Array, shift: int) -> None:
    """Insert groups 0 … count − 1, whose keys are distinct, into empty slots."""
    mask = slots.size - 1
    slots_at = np.uint64(slots.ctypes.data)
    for start in range(0, count, ROWS_AHEAD):
        stop = min(start + ROWS_AHEAD, count)
        for group in range(start, stop):
            prefetch(slots_at + np.uint64(4 * home_slot(keys[group], shift, 3)))
        for group in range(start, stop):
            at = home_slot(keys[group], shift, 3)
            while slots[at] != 0:
                at = (at + 1) & mask
            slots[at] = group + 1


@kernel
def insert_many(keys: Int64Array, width: int, count: int, slots: Int64Array, shift: int) -> None:
    """Insert groups 0 … count − 1, whose keys are distinct, into empty slots."""
    slots_at = np.uint64(slots.ctypes.data)
    for start in range(0, count, ROWS_AHEAD):
        stop = min(start + ROWS_AHEAD, count)
        for group in range(start, stop):
            prefetch(slots_at + np.uint64(8 * first_slot(hash_words(keys, width, group), shift)))
        for group in range(start, stop):
            insert_new(hash_words(keys, width, group), group, slots, shift)


@kernel
def find_many(
    words: Int64Array, width: int, row: int, rows: int, slots: Int64Array, shift: int, keys: Int64Array, count: int,
    limit: int, groups: Int64Array, firsts: Int64Array, found: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Find or insert the groups of rows from ``row`` on by keys of ``width`` words.

    ``slots``: :mod:`~.tagged_slots` of groups; ``keys``: the words of every group.
    """
    group = np.int64(-1)
    is_far = 8 * slots.size >= FAR_BYTES
    while row < rows:
        stop = min(row + ROWS_AHEAD, rows)
        if is_far:
            prefetch_rows(words, width, row, stop, slots, shift, keys)
        while row < stop:
            if group < 0 or not equal_words(words, row, words, row - 1, width):
                mixed = hash_words(words, width, row)
                at = slot_of_words(words, row, width, mixed, slots, shift, keys)
                group = number_of(slots[at])
                if group < 0:
                    if count >= limit:
                        return row, count, found
                    group = count
                    slots[at] = slot_value(mixed, group)
                    for i in range(width):
                        keys[group * width + i] = words[row * width + i]
                    firsts[found] = row
                    found += 1
                    count += 1
            groups[row] = group
            row += 1
    return row, count, found


@kernel
def gather_codes(codes: Int32Array, bitmap: UInt8Array, skip: int, known: Int64Array, out: Int64Array) -> None:
    """Map dictionary codes by ``known`` to ``out``; NULL rows get 0."""
    for row in range(out.size):
        out[row] = known[codes[row]] if is_valid(bitmap, skip, row) else 0


@kernel
def unpack_bits(data: UInt8Array, data_skip: int, out: Int64Array) -> None:
    """Unpack a bitmap to 0 and 1."""
    for row in range(out.size):
        at = data_skip + row
        out[row] = (data[at >> 3] >> (at & 7)) & 1


@kernel
def valid_rows(bitmap: UInt8Array, skip: int, rows: Int64Array, out: BoolArray, start: int) -> None:
    """Write the validity of the given rows as bools to ``out`` from ``start`` on."""
    for i in range(rows.size):
        out[start + i] = is_valid(bitmap, skip, rows[i])
