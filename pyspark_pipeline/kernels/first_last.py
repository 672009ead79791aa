"""Kernels of FIRST, LAST and NTH_VALUE: the rows of a chunk that become the first, last or n-th row of their group.

Rows whose bit in the bitmap is not set are ignored (bitmaps as in :mod:`~.buffers`).
"""

from __future__ import annotations

from pyspark_pipeline.kernels.arrays import Int64Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.murmur3 import is_valid


@kernel
def first_rows(
    groups: Int64Array, bitmap: UInt8Array, skip: int, seen: UInt8Array, position: Int64Array, base: int,
    rows: Int64Array,
) -> int:  # fmt: skip
    """Write to ``rows`` the first row of each group not ``seen`` before, in row order; return their number.

    The n-th of them gets the position ``base`` + n.
    """
    count = 0
    for row in range(groups.size):
        group = groups[row]
        if seen[group] == 0 and is_valid(bitmap, skip, row):
            seen[group] = 1
            position[group] = base + count
            rows[count] = row
            count += 1
    return count


@kernel
def last_rows(
    groups: Int64Array, bitmap: UInt8Array, skip: int, seen: UInt8Array, position: Int64Array, base: int,
    rows: Int64Array,
) -> int:  # fmt: skip
    """Write to ``rows`` the last row of each group of the chunk, from the last row backwards; return their number.

    The n-th of them gets the position ``base`` + n; a position from ``base`` on means that the group has its row.
    """
    count = 0
    for row in range(groups.size - 1, -1, -1):
        group = groups[row]
        if (seen[group] == 0 or position[group] < base) and is_valid(bitmap, skip, row):
            seen[group] = 1
            position[group] = base + count
            rows[count] = row
            count += 1
    return count


@kernel
def nth_rows(
    groups: Int64Array, bitmap: UInt8Array, skip: int, number: int, counts: Int64Array, seen: UInt8Array,
    position: Int64Array, base: int, rows: Int64Array,
) -> int:  # fmt: skip
    """Write to ``rows`` the rows that are the ``number``-th (from 1) of their group; return their number.

    ``counts`` has the rows of each group so far. The n-th of the rows gets the position ``base`` + n.
    """
    count = 0
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            group = groups[row]
            counts[group] += 1
            if counts[group] == number:
                seen[group] = 1
                position[group] = base + count
                rows[count] = row
                count += 1
    return count
