"""Elements of arrays as sets: the first of equal elements, and the elements that another array of the row also has.

Elements are codes (int64), equal as the values are, and flags of those that are not NULL; NULL equals NULL here. The
elements of all rows follow each other, and ``ends`` (int64, shape (rows + 1,)) begins with 0.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Array
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.jit import frozen, kernel

#: Elements of a row that are compared with each other; more are found by a hash table.
_FEW = 16
_MIX = np.int64(-7046029254386353131)


def first_places(ends: Array, codes: Array, valid: Array) -> Array:
    """Return for each element the place of the first equal element of its row, its own if there is none before."""
    found = allocate(codes.size, np.int64)
    _first_places(frozen(ends), frozen(codes), frozen(valid), _table(ends), found)
    return found


def members(
    ends: Array, codes: Array, valid: Array, other_ends: Array, other_codes: Array, other_valid: Array
) -> Array:
    """Return for each element whether the other array of its row has an equal element: bool."""
    found = allocate(codes.size, np.bool_)
    _members(
        frozen(ends), frozen(codes), frozen(valid), frozen(other_ends), frozen(other_codes), frozen(other_valid),
        _table(other_ends), found,
    )  # fmt: skip
    return found


def _table(ends: Array) -> Array:
    """Return the empty hash table of the longest row, whose entries are places, in a power of 2 of slots."""
    longest = int(np.diff(ends).max(initial=0))
    return np.full(1 << (2 * longest).bit_length() if longest > _FEW else 1, -1, dtype=np.int64)


@kernel
def _slot(code, mask):  # type: ignore[no-untyped-def]
    mixed = code * _MIX
    return (mixed ^ (mixed >> 32)) & mask


@kernel(forceinline=True)
def _find(table, start, codes, code):  # type: ignore[no-untyped-def]
    """Return the slot of the place that has ``code``, or a free one; places below ``start`` are of rows before."""
    mask = table.size - 1
    slot = _slot(code, mask)
    while table[slot] >= start and codes[table[slot]] != code:
        slot = (slot + 1) & mask
    return slot


@kernel
def _first_places(ends, codes, valid, table, found):  # type: ignore[no-untyped-def]
    for row in range(ends.size - 1):
        start, stop = ends[row], ends[row + 1]
        null = np.int64(-1)
        is_short = stop - start <= _FEW
        for place in range(start, stop):
            found[place] = place
            if not valid[place]:
                if null < 0:
                    null = place
                found[place] = null
            elif is_short:
                for before in range(start, place):
                    if valid[before] and codes[before] == codes[place]:
                        found[place] = before
                        break
            else:
                slot = _find(table, start, codes, codes[place])
                if table[slot] >= start:
                    found[place] = table[slot]
                else:
                    table[slot] = place


@kernel
def _members(ends, codes, valid, other_ends, other_codes, other_valid, table, found):  # type: ignore[no-untyped-def]
    for row in range(ends.size - 1):
        start, stop = other_ends[row], other_ends[row + 1]
        has_null = False
        is_short = stop - start <= _FEW
        for place in range(start, stop):
            if not other_valid[place]:
                has_null = True
            elif not is_short:
                table[_find(table, start, other_codes, other_codes[place])] = place
        for place in range(ends[row], ends[row + 1]):
            found[place] = False
            if not valid[place]:
                found[place] = has_null
            elif is_short:
                for other in range(start, stop):
                    if other_valid[other] and other_codes[other] == codes[place]:
                        found[place] = True
                        break
            else:
                found[place] = table[_find(table, start, other_codes, codes[place])] >= start
