"""Kernels of the join table: build rows are inserted once, then any number of threads probe it.

An *entry* is the first build row that has a key (−1: no such row), so if keys are unique the entry
is the matching row. The table has four modes: *direct* (``slots[key − low]``), *ranked* (64 numbers of the key range
have a word with a bit for each, and a word with the number of bits before it, the rank; entries by rank), *word* (open
addressing over pairs of key and entry), *words* (keys of several words; a slot holds part of the hash and entry + 1). A
probe writes only its output, and no row depends on the previous one, so that the processor overlaps their cache misses;
in large tables it prefetches as well.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Int32Array, Int64Array, UInt8Array, UInt64Array
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.murmur3 import is_valid
from pyspark_pipeline.kernels.tagged_slots import (
    hash_words,
    home_slot,
    number_of,
    prefetch_rows,
    slot_of_words,
    slot_value,
)
from pyspark_pipeline.kernels.words import FAR_BYTES, ROWS_AHEAD, count_ones, prefetch


@kernel
def add_digit(values: Int64Array, low: np.uint64, span: np.uint64, stride: np.uint64, codes: Int64Array) -> None:
    """Add (value − low) · stride to the codes; a code becomes −1 if its value is not in ``low`` … ``low + span``.

    ``low``, ``span`` and ``stride`` are uint64. The caller's strides keep other codes below 2**63; −1 remains −1.
    """
    for row in range(values.size):
        distance = np.uint64(values[row]) - low
        if distance > span or codes[row] < 0:
            codes[row] = -1
        else:
            codes[row] = np.int64(np.uint64(codes[row]) + distance * stride)


@kernel
def insert_direct(
    keys: Int64Array, bitmap: UInt8Array, skip: int, low: np.uint64, slots: Int32Array, entries: Int32Array
) -> int:
    """Insert rows at ``slots[key − low]`` (−1 is free); return the number of distinct keys. ``low`` is uint64."""
    count = 0
    for row in range(keys.size):
        entry = np.int32(-1)
        if is_valid(bitmap, skip, row):
            at = np.uint64(keys[row]) - low
            entry = slots[at]
            if entry < 0:
                entry = np.int32(row)
                slots[at] = entry
                count += 1
        entries[row] = entry
    return count


@kernel
def find_direct(
    keys: Int64Array, bitmap: UInt8Array, skip: int, low: np.uint64, slots: Int32Array, entries: Int32Array
) -> int:
    """Write the entry of every key; return the number of rows that have one."""
    found = 0
    size = np.uint64(slots.size)
    for row in range(keys.size):
        at = np.uint64(keys[row]) - low
        entry = np.int32(-1)
        if at < size and is_valid(bitmap, skip, row):
            entry = slots[at]
        entries[row] = entry
        found += entry >= 0
    return found


@kernel(forceinline=True)
def _prefetch_blocks(keys: Int64Array, start: int, stop: int, low: np.uint64, slots: UInt64Array) -> None:
    slots_at = np.uint64(slots.ctypes.data)
    for row in range(start, stop):
        block = (np.uint64(keys[row]) - low) >> np.uint64(6)
        prefetch(slots_at + (block << np.uint64(4)))


@kernel(forceinline=True)
def _write_ranks(
    keys: Int64Array,
    bitmap: UInt8Array,
    skip: int,
    start: int,
    stop: int,
    low: np.uint64,
    slots: UInt64Array,
    firsts: Int32Array,
    ranks: Int32Array,
) -> None:
    """Write the ranks of rows, −1 for those without a key, and prefetch; no branch depends on whether there is one."""
    size, one = np.uint64(slots.size) << np.uint64(5), np.uint64(1)
    if 8 * slots.size >= FAR_BYTES:
        _prefetch_blocks(keys, start, stop, low, slots)
    are_firsts_far, firsts_at = 4 * firsts.size >= FAR_BYTES, np.uint64(firsts.ctypes.data)
    for row in range(start, stop):
        at = np.uint64(keys[row]) - low
        is_key = at < size and is_valid(bitmap, skip, row)
        at = at if is_key else np.uint64(0)
        block, bit = (at >> np.uint64(6)) << one, at & np.uint64(63)
        word = slots[block]
        rank = slots[block + one] + count_ones(word & ((one << bit) - one))
        is_key &= (word >> bit) & one != np.uint64(0)
        if are_firsts_far:
            prefetch(firsts_at + ((rank if is_key else np.uint64(0)) << np.uint64(2)))
        ranks[row] = np.int32(rank) if is_key else np.int32(-1)


@kernel
def insert_ranked(
    keys: Int64Array,
    bitmap: UInt8Array,
    skip: int,
    low: np.uint64,
    slots: UInt64Array,
    firsts: Int32Array,
    entries: Int32Array,
) -> int:
    """Insert rows; return the number of distinct keys, so many of ``firsts`` (shape (rows,)) are written.

    ``slots``: zeros, two for every 64 numbers of the key range. ``low`` is uint64.
    """
    for start in range(0, keys.size, ROWS_AHEAD):
        stop = min(start + ROWS_AHEAD, keys.size)
        if 8 * slots.size >= FAR_BYTES:
            _prefetch_blocks(keys, start, stop, low, slots)
        for row in range(start, stop):
            if is_valid(bitmap, skip, row):
                at = np.uint64(keys[row]) - low
                slots[(at >> np.uint64(6)) << np.uint64(1)] |= np.uint64(1) << (at & np.uint64(63))
    before = np.uint64(0)
    for block in range(0, slots.size, 2):
        slots[block + 1] = before
        before += count_ones(slots[block])
    count = np.int64(before)
    for rank in range(count):
        firsts[rank] = -1
    for start in range(0, keys.size, ROWS_AHEAD):
        stop = min(start + ROWS_AHEAD, keys.size)
        _write_ranks(keys, bitmap, skip, start, stop, low, slots, firsts, entries)
        for row in range(start, stop):
            rank = entries[row]
            if rank >= 0:
                if firsts[rank] < 0:
                    firsts[rank] = row
                entries[row] = firsts[rank]
    return count


@kernel
def find_ranked(
    keys: Int64Array,
    bitmap: UInt8Array,
    skip: int,
    low: np.uint64,
    slots: UInt64Array,
    firsts: Int32Array,
    entries: Int32Array,
) -> int:
    """Write the entry of every key; return the number of rows that have one."""
    found = 0
    for start in range(0, keys.size, ROWS_AHEAD):
        stop = min(start + ROWS_AHEAD, keys.size)
        _write_ranks(keys, bitmap, skip, start, stop, low, slots, firsts, entries)
        for row in range(start, stop):
            rank = entries[row]
            entry = firsts[max(rank, 0)]
            entries[row] = entry if rank >= 0 else -1
            found += rank >= 0
    return found


@kernel
def ranked_numbers(slots: UInt64Array, out: Int64Array) -> None:
    """Write the numbers of the key range that are keys, ascending, shape (distinct,)."""
    filled = 0
    for block in range(0, slots.size, 2):
        word, number = slots[block], block * 32
        while word != np.uint64(0):
            lowest = word & (~word + np.uint64(1))
            out[filled] = number + np.int64(count_ones(lowest - np.uint64(1)))
            filled += 1
            word ^= lowest


@kernel(inline="always")
def _pair_of_word(key: int, slots: Int64Array, shift: int) -> int:
    """Return the pair of slots that holds a key, or a free pair."""
    mask = slots.size // 2 - 1
    at = home_slot(key, shift, 2)
    while True:
        if slots[2 * at + 1] < 0 or slots[2 * at] == key:
            return at
        at = (at + 1) & mask


@kernel(forceinline=True)
def _prefetch_pairs(keys: Int64Array, start: int, stop: int, slots: Int64Array, shift: int) -> None:
    slots_at = np.uint64(slots.ctypes.data)
    for row in range(start, stop):
        prefetch(slots_at + np.uint64(16 * home_slot(keys[row], shift, 2)))


@kernel
def insert_word(
    keys: Int64Array, bitmap: UInt8Array, skip: int, slots: Int64Array, shift: int, entries: Int32Array
) -> int:
    """Insert rows; ``slots``: alternating keys and entries (−1 is free), a power of two of pairs, more than rows.

    ``shift``: 64 + 2 − log2(pairs). Return the number of distinct keys.
    """
    count = 0
    is_far = 8 * slots.size >= FAR_BYTES
    for start in range(0, keys.size, ROWS_AHEAD):
        stop = min(start + ROWS_AHEAD, keys.size)
        if is_far:
            _prefetch_pairs(keys, start, stop, slots, shift)
        for row in range(start, stop):
            entry = np.int64(-1)
            if is_valid(bitmap, skip, row):
                key = keys[row]
                at = _pair_of_word(key, slots, shift)
                entry = slots[2 * at + 1]
                if entry < 0:
                    entry = np.int64(row)
                    slots[2 * at] = key
                    slots[2 * at + 1] = entry
                    count += 1
            entries[row] = np.int32(entry)
    return count


@kernel
def find_word(
    keys: Int64Array, bitmap: UInt8Array, skip: int, slots: Int64Array, shift: int, entries: Int32Array
) -> int:
    """Write the entry of every key; return the number of rows that have one."""
    found = 0
    is_far = 8 * slots.size >= FAR_BYTES
    for start in range(0, keys.size, ROWS_AHEAD):
        stop = min(start + ROWS_AHEAD, keys.size)
        if is_far:
            _prefetch_pairs(keys, start, stop, slots, shift)
        for row in range(start, stop):
            entry = np.int64(-1)
            if is_valid(bitmap, skip, row):
                entry = slots[2 * _pair_of_word(keys[row], slots, shift) + 1]
            entries[row] = np.int32(entry)
            found += entry >= 0
    return found


@kernel
def insert_words(
    keys: Int64Array, width: int, bitmap: UInt8Array, skip: int, slots: Int64Array, shift: int, entries: Int32Array
) -> int:
    """Insert rows of ``width`` words; ``slots``: :mod:`~.tagged_slots` of entries, more than rows.

    Return the number of distinct keys.
    """
    count = 0
    for row in range(entries.size):
        entry = np.int64(-1)
        if is_valid(bitmap, skip, row):
            mixed = hash_words(keys, width, row)
            at = slot_of_words(keys, row, width, mixed, slots, shift, keys)
            entry = number_of(slots[at])
            if entry < 0:
                entry = np.int64(row)
                slots[at] = slot_value(mixed, entry)
                count += 1
        entries[row] = np.int32(entry)
    return count


@kernel
def find_words(
    keys: Int64Array, width: int, bitmap: UInt8Array, skip: int, slots: Int64Array, shift: int, build_keys: Int64Array,
    entries: Int32Array,
) -> int:  # fmt: skip
    """Write the entry of every key; return the number of rows that have one. ``build_keys``: keys of the build rows."""
    found = 0
    is_far = 8 * slots.size >= FAR_BYTES
    for start in range(0, entries.size, ROWS_AHEAD):
        stop = min(start + ROWS_AHEAD, entries.size)
        if is_far:
            prefetch_rows(keys, width, start, stop, slots, shift, build_keys)
        for row in range(start, stop):
            entry = np.int64(-1)
            if is_valid(bitmap, skip, row):
                mixed = hash_words(keys, width, row)
                entry = number_of(slots[slot_of_words(keys, row, width, mixed, slots, shift, build_keys)])
            entries[row] = np.int32(entry)
            found += entry >= 0
    return found
