"""Kernels of MAX_BY and MIN_BY: the row with the largest or smallest value per group, of equal ones the last.

Such a row is marked while its chunk is processed: the place of its group is set to −1 − row, which is ``~row``. Then
:func:`take_marked` collects the marked rows. Other arguments as in :mod:`~.accumulate`.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.accumulate import compare_bytes, copy_bytes, less_double
from pyspark_pipeline.kernels.arrays import BoolArray, Float64Array, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.murmur3 import is_valid


@kernel
def mark_longs(
    groups: Int64Array, values: Int64Array, bitmap: UInt8Array, skip: int, sign: int, best: Int64Array,
    seen: UInt8Array, places: Int64Array,
) -> None:  # fmt: skip
    """Mark the rows with the smallest (``sign`` 1) or largest (−1) integer so far."""
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            group = groups[row]
            value = np.int64(values[row])
            if seen[group] == 0 or (value <= best[group] if sign > 0 else value >= best[group]):
                best[group] = value
                seen[group] = 1
                places[group] = ~row


@kernel
def mark_doubles(
    groups: Int64Array, values: Float64Array, bitmap: UInt8Array, skip: int, sign: int, best: Float64Array,
    seen: UInt8Array, places: Int64Array,
) -> None:  # fmt: skip
    """Mark the rows with the smallest (``sign`` 1) or largest (−1) floating-point number so far."""
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            group = groups[row]
            value = np.float64(values[row])
            held = best[group]
            if seen[group] == 0 or not (less_double(held, value) if sign > 0 else less_double(value, held)):
                best[group] = value
                seen[group] = 1
                places[group] = ~row


@kernel
def mark_decimals(
    groups: Int64Array, words: Int64Array, bitmap: UInt8Array, skip: int, sign: int, best: Int64Array, seen: UInt8Array,
    places: Int64Array,
) -> None:  # fmt: skip
    """Mark the rows with the smallest (``sign`` 1) or largest (−1) 128-bit integer so far."""
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            group = groups[row]
            low = np.uint64(words[2 * row])
            high = words[2 * row + 1]
            other_low = np.uint64(best[2 * group])
            other_high = best[2 * group + 1]
            less = high < other_high or (high == other_high and low < other_low)
            more = high > other_high or (high == other_high and low > other_low)
            if seen[group] == 0 or not (more if sign > 0 else less):
                best[2 * group] = np.int64(low)
                best[2 * group + 1] = high
                seen[group] = 1
                places[group] = ~row


@kernel
def mark_strings(
    groups: Int64Array, first: int, offsets: Int32Array, data: UInt8Array, bitmap: UInt8Array, skip: int, sign: int,
    is_last: bool,
    arena: UInt8Array, used: int, starts: Int64Array, ends: Int64Array, seen: UInt8Array, places: Int64Array,
) -> int:  # fmt: skip
    """Mark the rows with the smallest (``sign`` 1) or largest (−1) byte string so far, numbered from ``first``.

    Of equal strings the last one counts if ``is_last``, else the first one. The strings are kept in ``arena``, which
    has space for all of ``data``. Return the used bytes of the arena.
    """
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            group = groups[row]
            start = np.int64(offsets[row])
            end = np.int64(offsets[row + 1])
            if seen[group] != 0:
                order = compare_bytes(data, start, end, arena, starts[group], ends[group]) * sign
                if order > 0:
                    continue
                if order == 0:
                    if is_last:
                        places[group] = ~(first + row)
                    continue
            starts[group] = used
            used = copy_bytes(data, start, end, arena, used)
            ends[group] = used
            seen[group] = 1
            places[group] = ~(first + row)
    return used


@kernel
def note_extremes(
    groups: Int64Array, ranks: Int64Array, bitmap: UInt8Array, skip: int, best: Int64Array, seen: UInt8Array,
    noted: BoolArray,
) -> None:  # fmt: skip
    """Note the rows whose rank is the smallest of their group so far, or equal to it."""
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            group = groups[row]
            if seen[group] == 0 or ranks[row] <= best[group]:
                best[group] = ranks[row]
                seen[group] = 1
                noted[row] = True


@kernel
def take_marked(groups: Int64Array, places: Int64Array, base: int, rows: Int64Array) -> int:
    """Write the marked rows to ``rows`` in row order; return their number. The n-th gets the place ``base`` + n."""
    count = 0
    for row in range(groups.size):
        group = groups[row]
        if places[group] == ~row:
            places[group] = base + count
            rows[count] = row
            count += 1
    return count
