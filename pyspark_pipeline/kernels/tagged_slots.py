"""Open addressing over slots that hold part of a key's hash (the *tag*) and its number + 1; 0 is a free slot.

There is a power of two of them, and ``shift`` is 64 − log2(slots). Only where the tag is equal is the key looked
at, which lies where its number says. Here are also the keys of several words, ``words[row * width …]``, and where
tables of one-word keys begin to search.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.jit import kernel


@kernel(forceinline=True)
def first_slot(mixed, shift):  # type: ignore[no-untyped-def]
    """Give the first slot to try for a hash."""
    return np.int64(mixed >> np.uint64(shift))


@kernel(forceinline=True)
def tag_of(mixed):  # type: ignore[no-untyped-def]
    """Give the part of a hash that a slot holds."""
    return np.int64(mixed & np.uint64(0x7FFFFFFF)) << 32


@kernel(forceinline=True)
def has_tag(held, tag):  # type: ignore[no-untyped-def]
    """Say whether what a slot holds has the tag."""
    return (held & ~np.int64(0xFFFFFFFF)) == tag


@kernel(forceinline=True)
def holding(mixed, number):  # type: ignore[no-untyped-def]
    """Give what a slot holds for a key of hash ``mixed``."""
    return tag_of(mixed) | (number + 1)


@kernel(forceinline=True)
def number_in(held):  # type: ignore[no-untyped-def]
    """Give the number in what a slot holds; −1 for a free slot."""
    return (held & np.int64(0xFFFFFFFF)) - 1


@kernel(forceinline=True)
def enter_new(mixed, number, slots, shift):  # type: ignore[no-untyped-def]
    """Enter the number of a key that no slot holds."""
    mask = slots.size - 1
    at = first_slot(mixed, shift)
    while slots[at] != 0:
        at = (at + 1) & mask
    slots[at] = holding(mixed, number)


@kernel(forceinline=True)
def hash_words(words, width, row):  # type: ignore[no-untyped-def]
    """Mix the ``width`` words of a row to 64 bits."""
    mixed = np.uint64(0x243F6A8885A308D3)
    for i in range(width):
        mixed = (mixed ^ np.uint64(words[row * width + i])) * np.uint64(0x9E3779B97F4A7C15)
        mixed = mixed ^ (mixed >> np.uint64(32))
    return mixed * np.uint64(0xD6E8FEB86659FD93)


@kernel(forceinline=True)
def same_words(words, row, others, other, width):  # type: ignore[no-untyped-def]
    """Say whether two rows have equal words."""
    for i in range(width):
        if words[row * width + i] != others[other * width + i]:
            return False
    return True


@kernel(inline="always")  # a twentieth faster than forceinline
def slot_of_words(words, row, width, mixed, slots, shift, keys):  # type: ignore[no-untyped-def]
    """Give the slot that holds a row's words, of hash ``mixed``, found among ``keys``; where none does a free one."""
    mask = slots.size - 1
    at = first_slot(mixed, shift)
    tag = tag_of(mixed)
    while True:
        held = slots[at]
        if held == 0 or (has_tag(held, tag) and same_words(words, row, keys, number_in(held), width)):
            return at
        at = (at + 1) & mask


@kernel(forceinline=True)
def home_of(word, shift, log):  # type: ignore[no-untyped-def]
    """Give the first slot to try for a key of one word: neighbours share a run of 2**log, so sorted keys stay in cache.

    ``shift``: 64 + log − log2(slots).
    """
    mixed = (np.uint64(word) >> np.uint64(log)) * np.uint64(0x9E3779B97F4A7C15)
    within = np.uint64(word) & np.uint64((1 << log) - 1)
    return np.int64(((mixed >> np.uint64(shift)) << np.uint64(log)) | within)
