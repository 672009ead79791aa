"""Places of the elements of arrays that are made of others: two arrays in one, and an array with one more element."""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Array
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.jit import frozen, kernel


def range_places(starts: Array, counts: Array) -> Array:
    """Return the numbers (int64) of all ranges of ``counts`` numbers from ``starts`` on, one after the other.

    Both are int64, shape (ranges,).
    """
    return padded_places(starts, counts, counts)


def reversed_places(starts: Array, counts: Array) -> Array:
    """Return the numbers of all ranges like :func:`range_places`, each from the last one to the first."""
    found = allocate(int(counts.sum()), np.int64)
    _number_down(frozen(starts[:]), frozen(counts[:]), found)
    return found


def element_rows(counts: Array, first: int = 0) -> Array:
    """Return for each of ``counts`` elements (int64, shape (rows,)) of each row the number of the row from ``first``.

    The numbers are int64.
    """
    found = allocate(int(counts.sum()), np.int64)
    _own(frozen(counts[:]), first, found)
    return found


def element_positions(counts: Array) -> Array:
    """Return for each of ``counts`` elements (int64, shape (rows,)) of each row its position in the row (int64)."""
    return range_places(np.zeros_like(counts), counts)


def padded_places(firsts: Array, counts: Array, lengths: Array) -> Array:
    """Return the places (int64) of the elements of arrays that end in NULLs, whose place is −1, to have ``lengths``.

    The arrays have ``counts`` elements from the places ``firsts`` on; all are int64, shape (rows,). An array with more
    elements than its length loses the last ones.
    """
    found = allocate(int(lengths.sum()), np.int64)
    _pad(frozen(firsts[:]), frozen(counts[:]), frozen(lengths[:]), found)
    return found


def interleaved_places(ends: Array, other_ends: Array) -> Array:
    """Return the places (int64) of the elements of arrays that have those of two others of the same row.

    ``ends`` and ``other_ends`` (int64, shape (rows + 1,)) begin with 0. Places count all elements of the first arrays,
    then those of the others.
    """
    found = allocate(int(ends[-1] + other_ends[-1]), np.int64)
    _interleave(frozen(ends), frozen(other_ends), found)
    return found


def inserted_places(firsts: Array, counts: Array, lengths: Array, positions: Array, items: int) -> Array:
    """Return the places (int64) of the elements of arrays with an item inserted; −1 for NULL.

    The arrays have ``counts`` elements from the places ``firsts`` on, the results ``lengths``; the item is at
    ``positions`` from 0 on, or before the array, then with NULLs between, if negative. The place of row ``r``'s item is
    ``items + r``. All are int64, shape (rows,).
    """
    found = allocate(int(lengths.sum()), np.int64)
    _insert(frozen(firsts), frozen(counts), frozen(lengths), frozen(positions), items, found)
    return found


@kernel
def _number_down(starts, counts, found):  # type: ignore[no-untyped-def]
    at = 0
    for row in range(counts.size):
        last = starts[row] + counts[row] - 1
        for number in range(counts[row]):
            found[at] = last - number
            at += 1


@kernel
def _own(counts, first, found):  # type: ignore[no-untyped-def]
    at = 0
    for row in range(counts.size):
        for _ in range(counts[row]):
            found[at] = first + row
            at += 1


@kernel
def _pad(firsts, counts, lengths, found):  # type: ignore[no-untyped-def]
    at = 0
    for row in range(firsts.size):
        length = lengths[row]
        held = min(counts[row], length)
        for place in range(held):
            found[at + place] = firsts[row] + place
        for place in range(held, length):
            found[at + place] = -1
        at += length


@kernel
def _interleave(ends, other_ends, found):  # type: ignore[no-untyped-def]
    at = 0
    count = ends[ends.size - 1]
    for row in range(ends.size - 1):
        for place in range(ends[row], ends[row + 1]):
            found[at] = place
            at += 1
        for place in range(other_ends[row], other_ends[row + 1]):
            found[at] = count + place
            at += 1


@kernel
def _insert(firsts, counts, lengths, positions, items, found):  # type: ignore[no-untyped-def]
    start = 0
    for row in range(firsts.size):
        length, count, position = lengths[row], counts[row], positions[row]
        if length:
            stop = start + length
            if position < 0:
                position = np.int64(0)
                before = np.int64(0)
                after = count
            else:
                before = min(count, position)
                after = count - before
            found[start:stop] = -1
            for place in range(before):
                found[start + place] = firsts[row] + place
            found[start + position] = items + row
            for place in range(after):
                found[stop - after + place] = firsts[row] + before + place
            start = stop
