"""Expansion of entries to pairs of matching probe and build rows, in batches of bounded size.

``rows[offsets[entry]:offsets[entry + 1]]`` are the build rows of an entry; ``offsets`` has rows + 1 items.
Row numbers are int32; −1 means "no row".
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Int32Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel


@kernel
def list_rows(entries: Int32Array, offsets: Int32Array, rows: Int32Array) -> None:
    """Fill ``offsets`` (zeros, rows + 1) and ``rows`` from the entry of every build row (−1: in no list)."""
    for row in range(entries.size):
        if entries[row] >= 0:
            offsets[entries[row] + 1] += 1
    for entry in range(entries.size):
        offsets[entry + 1] += offsets[entry]
    for row in range(entries.size):
        entry = entries[row]
        if entry >= 0:
            rows[offsets[entry]] = row
            offsets[entry] += 1
    for entry in range(entries.size, 0, -1):
        offsets[entry] = offsets[entry - 1]
    offsets[0] = 0


@kernel
def count_pairs(entries: Int32Array, offsets: Int32Array, keeps_unmatched: bool) -> int:
    """Return the number of pairs of all probe rows; if ``keeps_unmatched``, a row without a match counts as one."""
    total = np.int64(0)
    for row in range(entries.size):
        entry = entries[row]
        if entry >= 0:
            total += np.int64(offsets[entry + 1]) - np.int64(offsets[entry])
        elif keeps_unmatched:
            total += 1
    return total


@kernel
def expand_pairs(
    entries: Int32Array, offsets: Int32Array, rows: Int32Array, keeps_unmatched: bool, row: int, within: int,
    probe: Int32Array, build: Int32Array,
) -> tuple[int, int]:  # fmt: skip
    """Fill ``probe`` and ``build`` with the next pairs, from match ``within`` of probe row ``row`` on.

    Return the row and the match to continue from. At least as many pairs remain as the outputs have items.
    """
    at = np.int64(0)
    limit = np.int64(probe.size)
    while at < limit:
        entry = entries[row]
        if entry < 0:
            if keeps_unmatched:
                probe[at] = row
                build[at] = -1
                at += 1
            row += 1
            continue
        first = np.int64(offsets[entry]) + within
        end = np.int64(offsets[entry + 1])
        stop = min(end, first + limit - at)
        for index in range(first, stop):
            probe[at] = row
            build[at] = rows[index]
            at += 1
        if stop == end:
            row += 1
            within = np.int64(0)
        else:
            within += stop - first
    return row, within


@kernel
def matched_pairs(entries: Int32Array, probe: Int32Array, build: Int32Array) -> None:
    """Write the rows that have an entry, and their entries; the outputs have one item more than there are such rows.

    Every row is written, and the next one overwrites it if it has no entry: no branch depends on the data.
    """
    at = 0
    for row in range(entries.size):
        probe[at] = row
        build[at] = entries[row]
        at += entries[row] >= 0


@kernel
def set_flags(rows: Int32Array, flags: UInt8Array) -> None:
    """Set the flag of every row (−1: none) to 1. Several threads may do so concurrently: they only write ones."""
    for i in range(rows.size):
        if rows[i] >= 0:
            flags[rows[i]] = 1


@kernel
def set_new_flags(rows: Int32Array, flags: UInt8Array) -> int:
    """Set the flag of every row to 1 up to the first that has it already; return its index in ``rows``, −1 if none."""
    for i in range(rows.size):
        if flags[rows[i]]:
            return i
        flags[rows[i]] = 1
    return -1


@kernel
def flagged_rows(flags: UInt8Array, wanted: int, start: int, rows: Int32Array) -> tuple[int, int]:
    """Write the numbers of the next rows from ``start`` on with flag ``wanted``; return their count and the end."""
    at = 0
    row = start
    while row < flags.size and at < rows.size:
        if flags[row] == wanted:
            rows[at] = row
            at += 1
        row += 1
    return at, row
