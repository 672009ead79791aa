"""The loops of a join's table: build rows are entered once, then any number of threads look keys up.

An *entry* is the first build row that has a key (−1: no such row), so where every key is there once the entry
is the row to join. Three forms: *direct* (``slots[key − low]``), *word* (open addressing over pairs of key and
entry), *words* (keys of several words; a slot holds part of the hash and entry + 1). Looking up writes nothing
but its output, and no row depends on the one before, so that the processor overlaps their cache misses.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.murmur3 import is_valid
from pyspark_pipeline.kernels.tagged_slots import hash_words, holding, home_of, number_in, slot_of_words


@kernel
def add_digit(values, low, span, stride, codes):  # type: ignore[no-untyped-def]
    """Add (value − low) · stride to the codes; −1 for good where the value is not in ``low`` … ``low + span``.

    ``low``, ``span`` and ``stride`` are uint64. Kept codes are below 2**63 as the caller chose the strides.
    """
    for row in range(values.size):
        distance = np.uint64(values[row]) - low
        if distance > span or codes[row] < 0:
            codes[row] = -1
        else:
            codes[row] = np.int64(np.uint64(codes[row]) + distance * stride)


@kernel
def enter_direct(keys, bitmap, skip, low, slots, entries):  # type: ignore[no-untyped-def]
    """Enter rows by ``slots[key − low]`` (−1 is free); give the number of distinct keys. ``low`` is uint64."""
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
def find_direct(keys, bitmap, skip, low, slots, entries):  # type: ignore[no-untyped-def]
    """Write the entry of every key; give the number of rows that have one."""
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


@kernel(inline="always")
def _pair_of_word(key, slots, shift):  # type: ignore[no-untyped-def]
    """Give the pair of slots that holds a key; where none does a free one."""
    mask = slots.size // 2 - 1
    at = home_of(key, shift, 2)
    while True:
        if slots[2 * at + 1] < 0 or slots[2 * at] == key:
            return at
        at = (at + 1) & mask


@kernel
def enter_word(keys, bitmap, skip, slots, shift, entries):  # type: ignore[no-untyped-def]
    """Enter rows; ``slots``: key and entry (−1 is free) in turn, a power of two of pairs, more than there are rows.

    ``shift``: 64 + 2 − log2(pairs). Gives the number of distinct keys.
    """
    count = 0
    for row in range(keys.size):
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
def find_word(keys, bitmap, skip, slots, shift, entries):  # type: ignore[no-untyped-def]
    """Write the entry of every key; give the number of rows that have one."""
    found = 0
    for row in range(keys.size):
        entry = np.int64(-1)
        if is_valid(bitmap, skip, row):
            entry = slots[2 * _pair_of_word(keys[row], slots, shift) + 1]
        entries[row] = np.int32(entry)
        found += entry >= 0
    return found


@kernel
def enter_words(keys, width, bitmap, skip, slots, shift, entries):  # type: ignore[no-untyped-def]
    """Enter rows of ``width`` words; ``slots``: :mod:`~.tagged_slots` of entries, more than there are rows.

    Gives the number of distinct keys.
    """
    count = 0
    for row in range(entries.size):
        entry = np.int64(-1)
        if is_valid(bitmap, skip, row):
            mixed = hash_words(keys, width, row)
            at = slot_of_words(keys, row, width, mixed, slots, shift, keys)
            entry = number_in(slots[at])
            if entry < 0:
                entry = np.int64(row)
                slots[at] = holding(mixed, entry)
                count += 1
        entries[row] = np.int32(entry)
    return count


@kernel
def find_words(keys, width, bitmap, skip, slots, shift, held_keys, entries):  # type: ignore[no-untyped-def]
    """Write the entry of every key; give the number of rows that have one. ``held_keys``: those of the build rows."""
    found = 0
    for row in range(entries.size):
        entry = np.int64(-1)
        if is_valid(bitmap, skip, row):
            mixed = hash_words(keys, width, row)
            entry = number_in(slots[slot_of_words(keys, row, width, mixed, slots, shift, held_keys)])
        entries[row] = np.int32(entry)
        found += entry >= 0
    return found
