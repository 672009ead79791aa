"""Which rows of arrays have a chosen element, how many, and the first one: one pass over the elements."""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array, UInt8Array
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.jit import frozen, kernel


def has_chosen(ends: Int64Array, chosen: BoolArray) -> BoolArray:
    """Return for each row whether one of its elements is ``chosen``; shape (rows,).

    ``ends``, of shape (rows + 1,), are the bounds of each row's elements among all; ``chosen`` has one flag for each.
    """
    found = allocate(ends.size - 1, np.uint8)
    _find(frozen(ends), frozen(chosen.view(np.uint8)), found)
    return found.view(np.bool_)


def count_chosen(ends: Int64Array, chosen: BoolArray) -> Int64Array:
    """Return for each row the number of its elements that are ``chosen``; arguments of :func:`has_chosen`."""
    counts = allocate(ends.size - 1, np.int64)
    _count(frozen(ends), frozen(chosen.view(np.uint8)), counts)
    return counts


def first_chosen(ends: Int64Array, chosen: BoolArray) -> Int64Array:
    """Return for each row its first element that is ``chosen``, as a place among all; −1 if there is none.

    Arguments of :func:`has_chosen`.
    """
    places = allocate(ends.size - 1, np.int64)
    _find_first(frozen(ends), frozen(chosen.view(np.uint8)), places)
    return places


@kernel
def _find(ends: Int64Array, chosen: UInt8Array, found: UInt8Array) -> None:
    start = ends[0]
    for row in range(found.size):
        end = ends[row + 1]
        any_bits = np.uint8(0)
        for place in range(start, end):
            any_bits |= chosen[place]
        found[row] = any_bits
        start = end


@kernel
def _count(ends: Int64Array, chosen: UInt8Array, counts: Int64Array) -> None:
    start = ends[0]
    for row in range(counts.size):
        end = ends[row + 1]
        count = np.int64(0)
        for place in range(start, end):
            count += chosen[place]
        counts[row] = count
        start = end


@kernel
def _find_first(ends: Int64Array, chosen: UInt8Array, places: Int64Array) -> None:
    start = ends[0]
    for row in range(places.size):
        end = ends[row + 1]
        first = np.int64(-1)
        for place in range(start, end):
            if chosen[place]:
                first = place
                break
        places[row] = first
        start = end
