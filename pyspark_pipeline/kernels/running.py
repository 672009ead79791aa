"""Running aggregates of sorted rows: the aggregate of a window's partition up to each row.

``starts``: bool, shape (rows,), true for the first row of a partition. Item 0 of an accumulator is the state before the
first row, item i + 1 is set to the state after row i. Bitmaps as in :mod:`~.buffers`.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.accumulate import add_wide, combined, try_add
from pyspark_pipeline.kernels.arrays import BoolArray, Float64Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.murmur3 import is_valid
from pyspark_pipeline.kernels.wrapping import wrapping_add


@kernel
def run_counts(starts: BoolArray, counted: BoolArray, counts: Int64Array) -> None:
    """Count the flagged rows."""
    for row in range(starts.size):
        counts[row + 1] = (0 if starts[row] else counts[row]) + counted[row]


@kernel
def run_longs(
    starts: BoolArray, values: Int64Array, bitmap: UInt8Array, skip: int, sums: Int64Array, seen: UInt8Array
) -> bool:
    """Add 64-bit integers, wrapping; return whether a sum overflowed."""
    overflow = np.int64(0)
    total, has = sums[0], seen[0]
    for row in range(starts.size):
        if starts[row]:
            total, has = np.int64(0), np.uint8(0)
        if is_valid(bitmap, skip, row):
            value = np.int64(values[row])
            new = wrapping_add(total, value)
            overflow |= (total ^ new) & (value ^ new)
            total, has = new, np.uint8(1)
        sums[row + 1] = total
        seen[row + 1] = has
    return overflow < 0


@kernel
def run_try_longs(
    starts: BoolArray, values: Int64Array, bitmap: UInt8Array, skip: int, sums: Int64Array, seen: UInt8Array
) -> None:
    """Add 64-bit integers; a sum that overflows remains overflowed until the next partition."""
    for row in range(starts.size):
        sums[row + 1] = np.int64(0) if starts[row] else sums[row]
        seen[row + 1] = np.uint8(0) if starts[row] else seen[row]
        if is_valid(bitmap, skip, row):
            try_add(values[row], row + 1, sums, seen)


@kernel
def run_doubles(
    starts: BoolArray, values: Float64Array, bitmap: UInt8Array, skip: int, sums: Float64Array, seen: UInt8Array
) -> None:
    """Add floating-point numbers in row order."""
    total, has = sums[0], seen[0]
    for row in range(starts.size):
        if starts[row]:
            total, has = 0.0, np.uint8(0)
        if is_valid(bitmap, skip, row):
            total += values[row]
            has = np.uint8(1)
        sums[row + 1] = total
        seen[row + 1] = has


@kernel
def run_bits(
    starts: BoolArray, values: Int64Array, bitmap: UInt8Array, skip: int, operator: int, bits: Int64Array,
    seen: UInt8Array,
) -> None:  # fmt: skip
    """Combine 64-bit integers bit by bit; operators as in :func:`~.accumulate.combined`."""
    total, has = bits[0], seen[0]
    for row in range(starts.size):
        if starts[row]:
            total, has = np.int64(0), np.uint8(0)
        if is_valid(bitmap, skip, row):
            total = combined(total, values[row], operator) if has else values[row]
            has = np.uint8(1)
        bits[row + 1] = total
        seen[row + 1] = has


@kernel
def run_decimals(
    starts: BoolArray, words: Int64Array, bitmap: UInt8Array, skip: int, sums: Int64Array, seen: UInt8Array
) -> None:
    """Add 128-bit integers exactly; sums have 192 bits (three words, low to high)."""
    for row in range(starts.size):
        at = 3 * (row + 1)
        for word in range(at, at + 3):
            sums[word] = np.int64(0) if starts[row] else sums[word - 3]
        seen[row + 1] = np.uint8(0) if starts[row] else seen[row]
        if is_valid(bitmap, skip, row):
            add_wide(words[2 * row], words[2 * row + 1], at, sums)
            seen[row + 1] = 1


@kernel
def run_least(
    starts: BoolArray, ranks: Int64Array, bitmap: UInt8Array, skip: int, is_last: bool, best: Int64Array
) -> None:
    """Write the row with the smallest rank so far, of equal ones the first or the last; −1 if all are NULL.

    Row 0 is the state of the previous rows: ``starts`` begins with the row after it.
    """
    at = 0 if is_valid(bitmap, skip, 0) else -1
    for row in range(1, ranks.size):
        if starts[row - 1]:
            at = -1
        if is_valid(bitmap, skip, row):
            if at < 0 or ranks[row] < ranks[at] or (is_last and ranks[row] == ranks[at]):
                at = row
        best[row - 1] = at


@kernel
def run_edges(starts: BoolArray, valid: BoolArray, is_last: bool, seen: UInt8Array, positions: Int64Array) -> None:
    """Set the position (the row + 1) of the first or last valid row so far; position 0 is the state before the rows."""
    for row in range(starts.size):
        has, at = seen[row], positions[row]
        if starts[row]:
            has = np.uint8(0)
        if valid[row] and (is_last or has == 0):
            has, at = np.uint8(1), np.int64(row + 1)
        seen[row + 1] = has
        positions[row + 1] = at


@kernel
def run_nth(
    starts: BoolArray, wanted: BoolArray, number: int, counts: Int64Array, seen: UInt8Array, positions: Int64Array
) -> None:
    """Set the position (the row + 1) of the ``number``-th wanted row so far; position 0 is that before the rows."""
    for row in range(starts.size):
        count, has, at = counts[row], seen[row], positions[row]
        if starts[row]:
            count, has = np.int64(0), np.uint8(0)
        if wanted[row]:
            count += 1
            if count == number:
                has, at = np.uint8(1), np.int64(row + 1)
        counts[row + 1] = count
        seen[row + 1] = has
        positions[row + 1] = at
