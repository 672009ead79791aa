"""The loops of a join's table: build rows are entered once, then any number of threads look keys up.

An *entry* is the first build row that has a key (−1: no such row), so where every key is there once the entry
is the row to join. Three forms: *direct* (``slots[key − low]``), *word* (open addressing over pairs of key and
entry), *words* (keys of several words; a slot holds part of the hash and entry + 1). Looking up writes nothing
but its output, and no row depends on the one before, so that the processor overlaps their cache misses.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.group_kernels import hash_words
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.murmur3 import is_valid


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


@kernel(forceinline=True)
def _home(key, shift):  # type: ignore[no-untyped-def]
    """Give the first slot to try: neighbouring keys share a run of four slots, so sorted keys stay in cache."""
    mixed = (np.uint64(key) >> np.uint64(2)) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(((mixed >> np.uint64(shift)) << np.uint64(2)) | (np.uint64(key) & np.uint64(3)))


@kernel
def enter_word(keys, bitmap, skip, slots, shift, entries):  # type: ignore[no-untyped-def]
    """Enter rows; ``slots``: key and entry (−1 is free) in turn, a power of two of pairs, more than there are rows.

    ``shift``: 64 + 2 − log2(pairs). Gives the number of distinct keys.
    """
    mask = slots.size // 2 - 1
    count = 0
    for row in range(keys.size):
        entry = np.int64(-1)
        if is_valid(bitmap, skip, row):
            key = keys[row]
            at = _home(key, shift)
            while True:
                entry = slots[2 * at + 1]
                if entry < 0:
                    entry = np.int64(row)
                    slots[2 * at] = key
                    slots[2 * at + 1] = entry
                    count += 1
                    break
                if slots[2 * at] == key:
                    break
                at = (at + 1) & mask
        entries[row] = np.int32(entry)
    return count


@kernel
def find_word(keys, bitmap, skip, slots, shift, entries):  # type: ignore[no-untyped-def]
    """Write the entry of every key; give the number of rows that have one."""
    mask = slots.size // 2 - 1
    found = 0
    for row in range(keys.size):
        entry = np.int64(-1)
        if is_valid(bitmap, skip, row):
            key = keys[row]
            at = _home(key, shift)
            entry = slots[2 * at + 1]
            while entry >= 0 and slots[2 * at] != key:
                at = (at + 1) & mask
                entry = slots[2 * at + 1]
        entries[row] = np.int32(entry)
        found += entry >= 0
    return found


@kernel(forceinline=True)
def _same(left, left_row, right, right_row, width):  # type: ignore[no-untyped-def]
    for i in range(width):
        if left[left_row * width + i] != right[right_row * width + i]:
            return False
    return True


@kernel
def enter_words(keys, width, bitmap, skip, slots, shift, entries):  # type: ignore[no-untyped-def]
    """Enter rows of ``width`` words; ``slots``: part of the hash and entry + 1 (0 is free), more than there are rows.

    ``shift``: 64 − log2(slots). Gives the number of distinct keys.
    """
    mask = slots.size - 1
    count = 0
    for row in range(entries.size):
        entry = np.int64(-1)
        if is_valid(bitmap, skip, row):
            mixed = hash_words(keys, width, row)
            at = np.int64(mixed >> np.uint64(shift))
            tag = np.int64(mixed & np.uint64(0x7FFFFFFF)) << 32
            while True:
                held = slots[at]
                if held == 0:
                    entry = np.int64(row)
                    slots[at] = tag | (entry + 1)
                    count += 1
                    break
                entry = (held & np.int64(0xFFFFFFFF)) - 1
                if (held & ~np.int64(0xFFFFFFFF)) == tag and _same(keys, row, keys, entry, width):
                    break
                at = (at + 1) & mask
        entries[row] = np.int32(entry)
    return count


@kernel
def find_words(keys, width, bitmap, skip, slots, shift, held_keys, entries):  # type: ignore[no-untyped-def]
    """Write the entry of every key; give the number of rows that have one. ``held_keys``: those of the build rows."""
    mask = slots.size - 1
    found = 0
    for row in range(entries.size):
        entry = np.int64(-1)
        if is_valid(bitmap, skip, row):
            mixed = hash_words(keys, width, row)
            at = np.int64(mixed >> np.uint64(shift))
            tag = np.int64(mixed & np.uint64(0x7FFFFFFF)) << 32
            while True:
                held = slots[at]
                entry = (held & np.int64(0xFFFFFFFF)) - 1
                if held == 0:
                    break
                if (held & ~np.int64(0xFFFFFFFF)) == tag and _same(keys, row, held_keys, entry, width):
                    break
                at = (at + 1) & mask
        entries[row] = np.int32(entry)
        found += entry >= 0
    return found
