"""Aggregates over frames of sorted rows: frame i has the rows ``begin[i]`` ≤ r < ``end[i]``.

``begin`` and ``end`` are int64 and ascend; bitmaps as in :mod:`~.buffers`. A frame that only extends the one before it
continues from its value; any other is computed from its first row, as in Spark, so that doubles are added in the same
order and overflows on the way are found.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.accumulate import add_wide
from pyspark_pipeline.kernels.arrays import Float64Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.murmur3 import is_valid
from pyspark_pipeline.kernels.wrapping import wrapping_add, wrapping_subtract

#: Frames of doubles that are summed side by side, and the rows they must share.
_TILE = 64


@kernel
def _sum_of_frame(begin: Int64Array, end: Int64Array, frame: int, data: Float64Array, sums: Float64Array) -> float:
    row, total = begin[frame], 0.0
    if frame > 0 and begin[frame - 1] == row and end[frame - 1] <= end[frame]:
        row, total = end[frame - 1], sums[frame - 1]
    for at in range(row, end[frame]):
        total += data[at]
    return total


@kernel
def frame_doubles(begin: Int64Array, end: Int64Array, data: Float64Array, sums: Float64Array) -> None:
    """Add the numbers of each frame in row order; a row to ignore is −0.0, which changes no sum.

    The rows that many frames share are read once and added to all their sums, which are independent of each other.
    """
    tile = np.zeros(_TILE)
    first = 0
    while first < begin.size:
        stop = min(first + _TILE, begin.size)
        low, high = begin[stop - 1], end[first]
        if high - low < _TILE or begin[stop - 1] == begin[first]:
            for frame in range(first, stop):
                sums[frame] = _sum_of_frame(begin, end, frame, data, sums)
        else:
            for frame in range(first, stop):
                total = 0.0
                for row in range(begin[frame], low):
                    total += data[row]
                tile[frame - first] = total
            for row in range(low, high):
                value = data[row]
                for place in range(_TILE):
                    tile[place] += value
            for frame in range(first, stop):
                total = tile[frame - first]
                for row in range(high, end[frame]):
                    total += data[row]
                sums[frame] = total
        first = stop


@kernel
def do_long_sums_overflow(begin: Int64Array, end: Int64Array, data: Int64Array) -> bool:
    """Return whether a sum of 64-bit integers overflows at any row of a frame."""
    overflow, total = np.int64(0), np.int64(0)
    for frame in range(begin.size):
        row = begin[frame]
        if frame > 0 and begin[frame - 1] == row and end[frame - 1] <= end[frame]:
            row = end[frame - 1]
        else:
            total = np.int64(0)
        for at in range(row, end[frame]):
            new = wrapping_add(total, data[at])
            overflow |= (total ^ new) & (data[at] ^ new)
            total = new
        if overflow < 0:
            return True
    return False


@kernel
def frame_decimals(
    begin: Int64Array, end: Int64Array, words: Int64Array, bitmap: UInt8Array, skip: int, sums: Int64Array,
    seen: UInt8Array,
) -> None:  # fmt: skip
    """Add 128-bit integers exactly: differences of the sums up to each row. 192 bits, as three words, low to high."""
    rows = words.size // 2
    running = np.zeros(3 * (rows + 1), dtype=np.int64)
    counts = np.zeros(rows + 1, dtype=np.int64)
    for row in range(rows):
        at = 3 * (row + 1)
        for word in range(at, at + 3):
            running[word] = running[word - 3]
        counts[row + 1] = counts[row]
        if is_valid(bitmap, skip, row):
            add_wide(words[2 * row], words[2 * row + 1], at, running)
            counts[row + 1] += 1
    for frame in range(begin.size):
        left, right = 3 * end[frame], 3 * begin[frame]
        low, other_low = np.uint64(running[left]), np.uint64(running[right])
        middle, other_middle = np.uint64(running[left + 1]), np.uint64(running[right + 1])
        borrow = np.uint64(low < other_low)
        part = middle - other_middle
        more = np.int64(middle < other_middle) + np.int64(part < borrow)
        sums[3 * frame] = np.int64(low - other_low)
        sums[3 * frame + 1] = np.int64(part - borrow)
        high = wrapping_subtract(running[left + 2], running[right + 2])
        sums[3 * frame + 2] = wrapping_subtract(high, more)
        seen[frame] = counts[end[frame]] > counts[begin[frame]]


@kernel
def frame_least(
    begin: Int64Array, end: Int64Array, ranks: Int64Array, bitmap: UInt8Array, skip: int, best: Int64Array
) -> None:
    """Write the row with the smallest rank, the first of equal ones; −1 if the frame has only NULLs.

    ``queue`` holds the rows that may still be the least of a frame, with ascending ranks.
    """
    queue = np.empty(ranks.size, dtype=np.int64)
    front = back = added = 0
    for frame in range(begin.size):
        if begin[frame] > added:
            added, front, back = begin[frame], 0, 0
        for row in range(added, end[frame]):
            if is_valid(bitmap, skip, row):
                while back > front and ranks[queue[back - 1]] > ranks[row]:
                    back -= 1
                queue[back] = row
                back += 1
        added = max(added, end[frame])
        while front < back and queue[front] < begin[frame]:
            front += 1
        best[frame] = queue[front] if front < back else -1
