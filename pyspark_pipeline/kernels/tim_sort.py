"""The sort of Java for objects, by a comparison that need not be an order: equal steps, so equal results.

An element is a place in columns of keys. The comparison of two elements has an outcome for each combination of the
states of their keys: both NULL, the first NULL, the second NULL, less, equal, greater. The algorithm is TimSort: runs
of at least 16 elements, sorted by binary insertion, and merges that gallop (Java: ``java.util.TimSort``).
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Array
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.jit import frozen, kernel

#: Fewer elements are sorted by insertion alone.
_FEW = 32
_GALLOP = 7
#: The runs that wait for their merge.
_WAITING = 64


def compared_places(ends: Array, keys: Array, valid: Array, outcomes: Array) -> tuple[Array, int]:
    """Return the places (int64) of the elements of each row as Java sorts them, and the first row that Java rejects.

    ``ends``: int64, shape (rows + 1,), begins with 0. ``keys``: int64, and ``valid``: bool, shape (keys, elements).
    ``outcomes``: int8, shape (6 ** keys,), of the states, the last key's varying fastest. The row is -1 if there is
    none: Java rejects a comparison that it finds to contradict itself.
    """
    found = allocate(keys.shape[1], np.int64)
    rejected = _sort_rows(frozen(ends), frozen(keys), frozen(valid), frozen(outcomes), found)
    return found, int(rejected)


@kernel
def _compare(keys, valid, outcomes, first, second):  # type: ignore[no-untyped-def]
    at = 0
    for key in range(keys.shape[0]):
        if valid[key, first]:
            if valid[key, second]:
                a, b = keys[key, first], keys[key, second]
                state = 3 if a < b else 4 if a == b else 5
            else:
                state = 2
        else:
            state = 1 if valid[key, second] else 0
        at = at * 6 + state
    return outcomes[at]


@kernel
def _sort_rows(ends, keys, valid, outcomes, found):  # type: ignore[no-untyped-def]
    for row in range(ends.size - 1):
        for place in range(ends[row], ends[row + 1]):
            found[place] = place
        if not _sort_one(found[ends[row] : ends[row + 1]], keys, valid, outcomes):
            return row
    return -1


@kernel
def _sort_one(a, keys, valid, outcomes):  # type: ignore[no-untyped-def]
    size = a.size
    if size < 2:
        return True
    if size < _FEW:
        _insert(a, 0, size, _run(a, 0, size, keys, valid, outcomes), keys, valid, outcomes)
        return True
    least, odd = size, 0
    while least >= _FEW:
        odd |= least & 1
        least >>= 1
    least += odd
    bases, sizes = np.empty(_WAITING, np.int64), np.empty(_WAITING, np.int64)
    gallop = np.full(1, _GALLOP, np.int64)
    runs, start = 0, 0
    while start < size:
        length = _run(a, start, size, keys, valid, outcomes)
        if length < least:
            wanted = min(size - start, least)
            _insert(a, start, start + wanted, start + length, keys, valid, outcomes)
            length = wanted
        bases[runs], sizes[runs] = start, length
        runs += 1
        start += length
        while runs > 1:
            n = runs - 2
            is_high = n > 0 and sizes[n - 1] <= sizes[n] + sizes[n + 1]
            if is_high or (n > 1 and sizes[n - 2] <= sizes[n] + sizes[n - 1]):
                if sizes[n - 1] < sizes[n + 1]:
                    n -= 1
            elif sizes[n] > sizes[n + 1]:
                break
            if not _merge_at(a, n, runs, bases, sizes, gallop, keys, valid, outcomes):
                return False
            runs -= 1
    while runs > 1:
        n = runs - 2
        if n > 0 and sizes[n - 1] < sizes[n + 1]:
            n -= 1
        if not _merge_at(a, n, runs, bases, sizes, gallop, keys, valid, outcomes):
            return False
        runs -= 1
    return True


@kernel
def _run(a, start, stop, keys, valid, outcomes):  # type: ignore[no-untyped-def]
    """Return the length of the run at the start, which is reversed if it descends."""
    end = start + 1
    if end == stop:
        return 1
    descends = _compare(keys, valid, outcomes, a[end], a[start]) < 0
    end += 1
    while end < stop and (_compare(keys, valid, outcomes, a[end], a[end - 1]) < 0) == descends:
        end += 1
    if descends:
        low, high = start, end - 1
        while low < high:
            a[low], a[high] = a[high], a[low]
            low += 1
            high -= 1
    return end - start


@kernel
def _insert(a, start, stop, at, keys, valid, outcomes):  # type: ignore[no-untyped-def]
    """Insert the elements from ``at`` on into the sorted ones before."""
    for place in range(max(at, start + 1), stop):
        pivot = a[place]
        left, right = start, place
        while left < right:
            middle = (left + right) >> 1
            if _compare(keys, valid, outcomes, pivot, a[middle]) < 0:
                right = middle
            else:
                left = middle + 1
        for move in range(place, left, -1):
            a[move] = a[move - 1]
        a[left] = pivot


@kernel
def _gallop_left(key, a, base, length, hint, keys, valid, outcomes):  # type: ignore[no-untyped-def]
    """Return the number of elements before the first that is not less than the key."""
    last, offset = 0, 1
    if _compare(keys, valid, outcomes, key, a[base + hint]) > 0:
        most = length - hint
        while offset < most and _compare(keys, valid, outcomes, key, a[base + hint + offset]) > 0:
            last = offset
            offset = 2 * offset + 1
        offset = min(offset, most)
        last, offset = last + hint, offset + hint
    else:
        most = hint + 1
        while offset < most and _compare(keys, valid, outcomes, key, a[base + hint - offset]) <= 0:
            last = offset
            offset = 2 * offset + 1
        offset = min(offset, most)
        last, offset = hint - offset, hint - last
    last += 1
    while last < offset:
        middle = last + ((offset - last) >> 1)
        if _compare(keys, valid, outcomes, key, a[base + middle]) > 0:
            last = middle + 1
        else:
            offset = middle
    return offset


@kernel
def _gallop_right(key, a, base, length, hint, keys, valid, outcomes):  # type: ignore[no-untyped-def]
    """Return the number of elements before the first that is greater than the key."""
    last, offset = 0, 1
    if _compare(keys, valid, outcomes, key, a[base + hint]) < 0:
        most = hint + 1
        while offset < most and _compare(keys, valid, outcomes, key, a[base + hint - offset]) < 0:
            last = offset
            offset = 2 * offset + 1
        offset = min(offset, most)
        last, offset = hint - offset, hint - last
    else:
        most = length - hint
        while offset < most and _compare(keys, valid, outcomes, key, a[base + hint + offset]) >= 0:
            last = offset
            offset = 2 * offset + 1
        offset = min(offset, most)
        last, offset = last + hint, offset + hint
    last += 1
    while last < offset:
        middle = last + ((offset - last) >> 1)
        if _compare(keys, valid, outcomes, key, a[base + middle]) < 0:
            offset = middle
        else:
            last = middle + 1
    return offset


@kernel
def _merge_at(a, n, runs, bases, sizes, gallop, keys, valid, outcomes):  # type: ignore[no-untyped-def]
    """Merge the runs ``n`` and ``n`` + 1; return whether the comparison did not contradict itself."""
    first, length, second, more = bases[n], sizes[n], bases[n + 1], sizes[n + 1]
    sizes[n] = length + more
    if n == runs - 3:
        bases[n + 1], sizes[n + 1] = bases[n + 2], sizes[n + 2]
    kept = _gallop_right(a[second], a, first, length, 0, keys, valid, outcomes)
    first += kept
    length -= kept
    if length == 0:
        return True
    more = _gallop_left(a[first + length - 1], a, second, more, more - 1, keys, valid, outcomes)
    if more == 0:
        return True
    if length <= more:
        return _merge_low(a, first, length, second, more, gallop, keys, valid, outcomes)
    return _merge_high(a, first, length, second, more, gallop, keys, valid, outcomes)


@kernel
def _merge_low(a, first, length, second, more, gallop, keys, valid, outcomes):  # type: ignore[no-untyped-def]
    held = a[first : first + length].copy()
    at, other, to = 0, second, first
    a[to] = a[other]
    to, other, more = to + 1, other + 1, more - 1
    least = gallop[0]
    is_open = more > 0 and length > 1
    has_galloped = is_open
    while is_open:
        won, lost = 0, 0
        while is_open:
            if _compare(keys, valid, outcomes, a[other], held[at]) < 0:
                a[to] = a[other]
                to, other, more = to + 1, other + 1, more - 1
                lost, won = lost + 1, 0
                is_open = more > 0
            else:
                a[to] = held[at]
                to, at, length = to + 1, at + 1, length - 1
                won, lost = won + 1, 0
                is_open = length > 1
            if (won | lost) >= least:
                break
        while is_open:
            won = _gallop_right(a[other], held, at, length, 0, keys, valid, outcomes)
            for place in range(won):
                a[to + place] = held[at + place]
            to, at, length = to + won, at + won, length - won
            if won and length <= 1:
                is_open = False
                break
            a[to] = a[other]
            to, other, more = to + 1, other + 1, more - 1
            if more == 0:
                is_open = False
                break
            lost = _gallop_left(held[at], a, other, more, 0, keys, valid, outcomes)
            for place in range(lost):
                a[to + place] = a[other + place]
            to, other, more = to + lost, other + lost, more - lost
            if lost and more == 0:
                is_open = False
                break
            a[to] = held[at]
            to, at, length = to + 1, at + 1, length - 1
            if length == 1:
                is_open = False
                break
            least -= 1
            if won < _GALLOP and lost < _GALLOP:
                break
        if is_open:
            least = max(least, 0) + 2
    if has_galloped:
        gallop[0] = max(least, 1)
    if more > 0 and length == 1:
        for place in range(more):
            a[to + place] = a[other + place]
        a[to + more] = held[at]
        return True
    if length == 0:
        return False
    for place in range(length):
        a[to + place] = held[at + place]
    return True


@kernel
def _merge_high(a, first, length, second, more, gallop, keys, valid, outcomes):  # type: ignore[no-untyped-def]
    held = a[second : second + more].copy()
    at, other, to = first + length - 1, more - 1, second + more - 1
    a[to] = a[at]
    to, at, length = to - 1, at - 1, length - 1
    least = gallop[0]
    is_open = length > 0 and more > 1
    has_galloped = is_open
    while is_open:
        won, lost = 0, 0
        while is_open:
            if _compare(keys, valid, outcomes, held[other], a[at]) < 0:
                a[to] = a[at]
                to, at, length = to - 1, at - 1, length - 1
                won, lost = won + 1, 0
                is_open = length > 0
            else:
                a[to] = held[other]
                to, other, more = to - 1, other - 1, more - 1
                lost, won = lost + 1, 0
                is_open = more > 1
            if (won | lost) >= least:
                break
        while is_open:
            won = length - _gallop_right(held[other], a, first, length, length - 1, keys, valid, outcomes)
            to, at, length = to - won, at - won, length - won
            for place in range(won, 0, -1):
                a[to + place] = a[at + place]
            if won and length == 0:
                is_open = False
                break
            a[to] = held[other]
            to, other, more = to - 1, other - 1, more - 1
            if more == 1:
                is_open = False
                break
            lost = more - _gallop_left(a[at], held, 0, more, more - 1, keys, valid, outcomes)
            to, other, more = to - lost, other - lost, more - lost
            for place in range(lost, 0, -1):
                a[to + place] = held[other + place]
            if lost and more <= 1:
                is_open = False
                break
            a[to] = a[at]
            to, at, length = to - 1, at - 1, length - 1
            if length == 0:
                is_open = False
                break
            least -= 1
            if won < _GALLOP and lost < _GALLOP:
                break
        if is_open:
            least = max(least, 0) + 2
    if has_galloped:
        gallop[0] = max(least, 1)
    if length > 0 and more == 1:
        to, at = to - length, at - length
        for place in range(length, 0, -1):
            a[to + place] = a[at + place]
        a[to] = held[other]
        return True
    if more == 0:
        return False
    for place in range(more):
        a[to - (more - 1) + place] = held[place]
    return True
