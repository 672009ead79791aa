"""Open addressing over slots that hold part of a key's hash (the *tag*) and the key's number + 1; 0 is a free slot.

The number of slots is a power of two, and ``shift`` is 64 − log2(slots). A key, which is stored at its number, is
compared only if the tag is equal. This module also has the hash and comparison of keys of several words,
``words[row * width …]``, and the home slot of one-word keys.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Int64Array
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.words import prefetch


@kernel(forceinline=True)
def first_slot(mixed: np.uint64, shift: int) -> int:
    """Return the first slot to probe for a hash."""
    return np.int64(mixed >> np.uint64(shift))


@kernel(forceinline=True)
def tag_of(mixed: np.uint64) -> int:
    """Return the part of a hash that a slot holds."""
    return np.int64(mixed & np.uint64(0x7FFFFFFF)) << 32


@kernel(forceinline=True)
def has_tag(held: int, tag: int) -> bool:
    """Return whether a slot's value has the tag."""
    return (held & ~np.int64(0xFFFFFFFF)) == tag


@kernel(forceinline=True)
def slot_value(mixed: np.uint64, number: int) -> int:
    """Return the slot value of a key with hash ``mixed``."""
    return tag_of(mixed) | (number + 1)


@kernel(forceinline=True)
def number_of(held: int) -> int:
    """Return the number in a slot value; −1 for a free slot."""
    return (held & np.int64(0xFFFFFFFF)) - 1


@kernel(forceinline=True)
def insert_new(mixed: np.uint64, number: int, slots: Int64Array, shift: int) -> None:
    """Insert the number of a key that is not in the table."""
    mask = slots.size - 1
    at = first_slot(mixed, shift)
    while slots[at] != 0:
        at = (at + 1) & mask
    slots[at] = slot_value(mixed, number)


@kernel(forceinline=True)
def hash_words(words: Int64Array, width: int, row: int) -> np.uint64:
    """Hash the ``width`` words of a row to 64 bits. Unsigned indices, which never wrap around, are faster."""
    size = np.uint64(width)
    first = np.uint64(row) * size
    mixed = np.uint64(0x243F6A8885A308D3)
    for i in range(size):
        mixed = (mixed ^ np.uint64(words[first + i])) * np.uint64(0x9E3779B97F4A7C15)
        mixed = mixed ^ (mixed >> np.uint64(32))
    return mixed * np.uint64(0xD6E8FEB86659FD93)


@kernel(forceinline=True)
def equal_words(words: Int64Array, row: int, others: Int64Array, other: int, width: int) -> bool:
    """Return whether two rows have equal words."""
    size = np.uint64(width)
    first, second = np.uint64(row) * size, np.uint64(other) * size
    for i in range(size):
        if words[first + i] != others[second + i]:
            return False
    return True


@kernel(forceinline=True)
def prefetch_rows(
    words: Int64Array, width: int, start: int, stop: int, slots: Int64Array, shift: int, keys: Int64Array
) -> None:
    """Prefetch the first slots of rows ``start`` ≤ row < ``stop``, then the keys that these slots hold."""
    slots_at, keys_at = np.uint64(slots.ctypes.data), np.uint64(keys.ctypes.data)
    for row in range(start, stop):
        prefetch(slots_at + np.uint64(8 * first_slot(hash_words(words, width, row), shift)))
    for row in range(start, stop):
        held = slots[first_slot(hash_words(words, width, row), shift)]
        prefetch(keys_at + np.uint64(8 * width * max(number_of(held), 0)))


@kernel(forceinline=True)
def slot_of_words(
    words: Int64Array, row: int, width: int, mixed: np.uint64, slots: Int64Array, shift: int, keys: Int64Array
) -> np.uint64:
    """Return the slot of a row's words, whose hash is ``mixed``, or a free slot; ``keys``: the words of all keys."""
    mask, size, one = np.uint64(slots.size - 1), np.uint64(width), np.uint64(1)
    first = np.uint64(row) * size
    at = mixed >> np.uint64(shift)
    tag = tag_of(mixed)
    while True:
        held = slots[at]
        if held == 0:
            break
        if has_tag(held, tag):
            other = np.uint64(number_of(held)) * size
            i = np.uint64(0)
            while i < size and words[first + i] == keys[other + i]:
                i += one
            if i == size:
                break
        at = (at + one) & mask
    return at


@kernel(forceinline=True)
def home_slot(word: int, shift: int, log: int) -> int:
    """Return the first slot to probe for a one-word key: adjacent keys share a run of 2**log slots, for locality.

    ``shift``: 64 + log − log2(slots).
    """
    mixed = (np.uint64(word) >> np.uint64(log)) * np.uint64(0x9E3779B97F4A7C15)
    within = np.uint64(word) & np.uint64((1 << log) - 1)
    return np.int64(((mixed >> np.uint64(shift)) << np.uint64(log)) | within)
