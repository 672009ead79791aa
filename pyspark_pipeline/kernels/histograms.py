"""Kernels of HISTOGRAM_NUMERIC, after Spark's ``NumericHistogram``: bins of a center and a height.

The histogram of a group of ``most`` bins is a row of ``2 · most + 4`` float64: how many bins it has, the state of its
random numbers, then the centers and the heights of ``most + 1`` bins each. All zeros are an empty histogram.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Float64Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.murmur3 import is_valid

#: ``java.util.Random``: the first state for Spark's seed, and the numbers of its recurrence.
_FIRST_STATE = 31183 ^ 0x5DEECE66D
_FACTOR, _ADDEND, _MASK = 0x5DEECE66D, 0xB, (1 << 48) - 1
_USED, _STATE, _CENTERS = 0, 1, 2


def histogram_width(most: int) -> int:
    """Return the number of float64 of a histogram of ``most`` bins."""
    return 2 * most + 4


@kernel(forceinline=True)
def _next_state(state: int) -> int:
    return (state * _FACTOR + _ADDEND) & _MASK


@kernel
def _trim(bins: Float64Array, centers: Float64Array, heights: Float64Array, used: int, most: int) -> int:
    """Merge the closest bins until there are ``most``; ties are decided by random numbers. Return the number left."""
    while used > most:
        least = centers[1] - centers[0]
        place, ties = 0, 1
        for i in range(1, used - 1):
            distance = centers[i + 1] - centers[i]
            if distance < least:
                least, place, ties = distance, i, 1
            elif distance == least:
                ties += 1
                high = _next_state(np.int64(bins[_STATE]) ^ _FIRST_STATE)
                low = _next_state(high)
                bins[_STATE] = np.float64(low ^ _FIRST_STATE)
                if np.float64(((high >> 22) << 27) + (low >> 21)) * 2.0**-53 <= 1.0 / ties:
                    place = i
        height = heights[place] + heights[place + 1]
        centers[place] *= heights[place] / height
        centers[place] += centers[place + 1] / height * heights[place + 1]
        heights[place] = height
        for i in range(place + 1, used - 1):
            centers[i], heights[i] = centers[i + 1], heights[i + 1]
        used -= 1
    return used


@kernel
def add_values(
    groups: Int64Array, data: Float64Array, bitmap: UInt8Array, skip: int, most: int, words: Float64Array
) -> None:
    """Add values to the histograms of their groups in the order of the rows."""
    width = 2 * most + 4
    for row in range(groups.size):
        if not is_valid(bitmap, skip, row):
            continue
        value = data[row]
        bins = words[groups[row] * width : (groups[row] + 1) * width]
        centers, heights = bins[_CENTERS : _CENTERS + most + 1], bins[_CENTERS + most + 1 :]
        used = np.int64(bins[_USED])
        place, left, right = 0, 0, used
        while left < right:
            place = (left + right) // 2
            if centers[place] > value:
                right = place
            elif centers[place] < value:
                place += 1
                left = place
            else:  # equal, or one is NaN
                break
        if place < used and centers[place] == value:
            heights[place] += 1.0
            continue
        for i in range(used, place, -1):
            centers[i], heights[i] = centers[i - 1], heights[i - 1]
        centers[place], heights[place] = value, 1.0
        bins[_USED] = np.float64(_trim(bins, centers, heights, used + 1, most))


@kernel(forceinline=True)
def _is_above(first: float, second: float) -> bool:
    """Return whether Java's ``Double.compare`` is positive: NaN is above all numbers, 0.0 above −0.0."""
    if first > second:
        return True
    if first < second:
        return False
    if first == second:
        return bool(first == 0.0 and np.copysign(1.0, first) > np.copysign(1.0, second))
    return bool(second == second)


@kernel
def merge_bins(
    groups: Int64Array, counts: Int64Array, firsts: Int64Array, other_centers: Float64Array,
    other_heights: Float64Array, most: int, words: Float64Array,
) -> None:  # fmt: skip
    """Merge histograms into those of their groups; that of row r has ``counts[r]`` bins from ``firsts[r]`` on."""
    width = 2 * most + 4
    centers, heights = np.empty(2 * most), np.empty(2 * most)
    for row in range(groups.size):
        bins = words[groups[row] * width : (groups[row] + 1) * width]
        own_centers, own_heights = bins[_CENTERS : _CENTERS + most + 1], bins[_CENTERS + most + 1 :]
        used, count, first = np.int64(bins[_USED]), counts[row], firsts[row]
        for i in range(used):
            centers[i], heights[i] = own_centers[i], own_heights[i]
        for i in range(count):
            centers[used + i], heights[used + i] = other_centers[first + i], other_heights[first + i]
        if used:
            used += count
            for i in range(1, used):  # stable, as Java sorts objects
                center, height = centers[i], heights[i]
                at = i
                while at > 0 and _is_above(centers[at - 1], center):
                    centers[at], heights[at] = centers[at - 1], heights[at - 1]
                    at -= 1
                centers[at], heights[at] = center, height
            used = _trim(bins, centers, heights, used, most)
        else:
            used = count
        for i in range(used):
            own_centers[i], own_heights[i] = centers[i], heights[i]
        bins[_USED] = np.float64(used)
