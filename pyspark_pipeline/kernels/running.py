"""Running values of sorted rows: what has come of a window's partition up to each row.

``starts``: bool, shape (rows,), says where a partition begins; before the first of them goes on what the row
before left (``first…``). Bitmaps as in :mod:`~.buffers`.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.murmur3 import is_valid
from pyspark_pipeline.kernels.wrapping import wrapping_add


@kernel
def run_longs(starts, values, bitmap, skip, first, first_seen, sums, seen):  # type: ignore[no-untyped-def]
    """Add 64-bit integers, wrapping; give whether a sum overflowed."""
    overflow = np.int64(0)
    total, has = first, first_seen
    for row in range(starts.size):
        if starts[row]:
            total, has = np.int64(0), False
        if is_valid(bitmap, skip, row):
            value = np.int64(values[row])
            new = wrapping_add(total, value)
            overflow |= (total ^ new) & (value ^ new)
            total, has = new, True
        sums[row] = total
        seen[row] = has
    return overflow < 0


@kernel
def run_doubles(starts, values, bitmap, skip, first, first_seen, sums, seen):  # type: ignore[no-untyped-def]
    """Add floating numbers in row order."""
    total, has = first, first_seen
    for row in range(starts.size):
        if starts[row]:
            total, has = 0.0, False
        if is_valid(bitmap, skip, row):
            total += values[row]
            has = True
        sums[row] = total
        seen[row] = has


@kernel
def run_decimals(starts, words, bitmap, skip, first, sums):  # type: ignore[no-untyped-def]
    """Add 128-bit integers exactly: ``first`` and each row of ``sums`` are 192 bits (three words, low to high)."""
    low, middle, high = np.uint64(first[0]), np.uint64(first[1]), first[2]
    for row in range(starts.size):
        if starts[row]:
            low, middle, high = np.uint64(0), np.uint64(0), np.int64(0)
        if is_valid(bitmap, skip, row):
            more = words[2 * row + 1]
            new_low = low + np.uint64(words[2 * row])
            carry = np.uint64(new_low < low)
            part = middle + np.uint64(more)
            new_middle = part + carry
            above = np.int64(part < middle) + np.int64(new_middle < part)
            high = wrapping_add(high, wrapping_add(more >> 63, above))
            low, middle = new_low, new_middle
        sums[row, 0] = np.int64(low)
        sums[row, 1] = np.int64(middle)
        sums[row, 2] = high


@kernel
def run_least(starts, ranks, bitmap, skip, best):  # type: ignore[no-untyped-def]
    """Find the row with the least rank so far, the first of equal ones; −1 before the first that is not NULL.

    Row 0 is what came before: ``starts`` begins with the row after it.
    """
    at = 0 if is_valid(bitmap, skip, 0) else -1
    for row in range(1, ranks.size):
        if starts[row - 1]:
            at = -1
        if is_valid(bitmap, skip, row) and (at < 0 or ranks[row] < ranks[at]):
            at = row
        best[row - 1] = at
