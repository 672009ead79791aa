"""Elements of arrays in order: sorted within their rows, or the least and the greatest of each row.

Elements are keys (int64) that have the order of the values, and flags of those that are not NULL. The elements of all
rows follow each other, and ``ends`` (int64, shape (rows + 1,)) begins with 0.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Array
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.jit import frozen, kernel

#: Elements of a row that are sorted by insertion.
_FEW = 32


def sorted_places(ends: Array, keys: Array, valid: Array, *, nulls_first: bool) -> Array:
    """Return the places of the elements of each row in stable ascending order of their keys: int64."""
    found = allocate(keys.size, np.int64)
    _sorted_places(frozen(ends), frozen(keys), frozen(valid), nulls_first, found)
    return found


def least_places(ends: Array, keys: Array, valid: Array) -> Array:
    """Return for each row the place of the first of the least elements that are not NULL (int64); −1 without one."""
    found = allocate(ends.size - 1, np.int64)
    _least_places(frozen(ends), frozen(keys), frozen(valid), found)
    return found


@kernel
def _sorted_places(ends, keys, valid, nulls_first, found):  # type: ignore[no-untyped-def]
    for row in range(ends.size - 1):
        start, stop = ends[row], ends[row + 1]
        nulls = 0
        for place in range(start, stop):
            if not valid[place]:
                nulls += 1
        first = start + nulls if nulls_first else start
        null = start if nulls_first else stop - nulls
        end = first
        is_short = stop - start <= _FEW
        for place in range(start, stop):
            if not valid[place]:
                found[null] = place
                null += 1
                continue
            at = end
            if is_short:
                while at > first and keys[found[at - 1]] > keys[place]:
                    found[at] = found[at - 1]
                    at -= 1
            found[at] = place
            end += 1
        if not is_short:
            part = found[first:end].copy()
            found[first:end] = part[np.argsort(keys[part], kind="mergesort")]


@kernel
def _least_places(ends, keys, valid, found):  # type: ignore[no-untyped-def]
    for row in range(ends.size - 1):
        least = np.int64(-1)
        for place in range(ends[row], ends[row + 1]):
            if valid[place] and (least < 0 or keys[place] < keys[least]):
                least = place
        found[row] = least
