"""Kernels of statistical aggregates: moments of one column and of pairs of columns, updated row by row per group.

Formulas and order of operations are those of Spark's ``CentralMomentAgg`` and ``PearsonCorrelation`` (Welford's update,
Chan's merge), so that equal rows in equal order have bit-identical results. ``moments``: float64, shape
(groups · width,), per group n, mean, M2, M3, M4 (``width`` is the order + 1), or n, mean of x, mean of y, co-moment,
M2 of x, M2 of y.
"""

from __future__ import annotations

from pyspark_pipeline.kernels.arrays import BoolArray, Float64Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.murmur3 import is_valid


@kernel(forceinline=True)
def _add_value(moments: Float64Array, at: int, value: float, width: int) -> None:
    """Add a value to the moments from index ``at``."""
    n = moments[at] + 1.0
    delta = value - moments[at + 1]
    step = delta / n
    second = moments[at + 2] + delta * (delta - step)
    if width > 3:
        square, step_square = delta * delta, step * step
        third = moments[at + 3] - 3.0 * step * second + delta * (square - step_square)
        if width > 4:
            moments[at + 4] = (
                moments[at + 4]
                - 4.0 * step * third
                - 6.0 * step_square * second
                + delta * (delta * square - step * step_square)
            )
        moments[at + 3] = third
    moments[at] = n
    moments[at + 1] += step
    moments[at + 2] = second


@kernel
def update_moments(
    groups: Int64Array, values: Float64Array, bitmap: UInt8Array, skip: int, width: int, moments: Float64Array
) -> None:
    """Add the values that are not NULL to the moments of their groups."""
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            _add_value(moments, groups[row] * width, values[row], width)


@kernel
def run_moments(
    starts: BoolArray, values: Float64Array, bitmap: UInt8Array, skip: int, width: int, moments: Float64Array
) -> None:
    """Set group row + 1 to the moments after each row, from group ``row``, or from zero if the row starts anew."""
    for row in range(starts.size):
        at = (row + 1) * width
        for moment in range(at, at + width):
            moments[moment] = 0.0 if starts[row] else moments[moment - width]
        if is_valid(bitmap, skip, row):
            _add_value(moments, at, values[row], width)


@kernel(forceinline=True)
def _mean_difference(n1: float, n2: float, mean1: float, mean2: float, takes_other: bool) -> tuple[float, float]:
    """Return the difference of two means, and that over the sum of the counts."""
    if takes_other and (n1 == 0.0 or n2 == 0.0):
        return 0.0, 0.0
    n = n1 + n2
    delta = mean2 - mean1
    return delta, 0.0 if n == 0.0 else delta / n


@kernel(forceinline=True)
def _merged_mean(n1: float, n2: float, mean1: float, mean2: float, step: float, takes_other: bool) -> float:
    if takes_other and n1 == 0.0:
        return mean2
    return mean1 if takes_other and n2 == 0.0 else mean1 + step * n2


@kernel
def frame_moments(
    begin: Int64Array, end: Int64Array, values: Float64Array, bitmap: UInt8Array, skip: int, width: int,
    moments: Float64Array,
) -> None:  # fmt: skip
    """Set each group to the moments of a frame (:mod:`~.frames`)."""
    for frame in range(begin.size):
        row, at = begin[frame], frame * width
        extends = frame > 0 and begin[frame - 1] == row and end[frame - 1] <= end[frame]
        for moment in range(at, at + width):
            moments[moment] = moments[moment - width] if extends else 0.0
        for other in range(end[frame - 1] if extends else row, end[frame]):
            if is_valid(bitmap, skip, other):
                _add_value(moments, at, values[other], width)


@kernel
def merge_moments(
    groups: Int64Array, parts: Float64Array, width: int, takes_other: bool, moments: Float64Array
) -> None:
    """Merge partial moments, shape (rows · width,), into those of their groups.

    ``takes_other`` (from Spark 4.3 on): if a side has no rows, the mean is that of the other side, without rounding.
    """
    for row in range(groups.size):
        at, other = groups[row] * width, row * width
        n1, n2 = moments[at], parts[other]
        delta, step = _mean_difference(n1, n2, moments[at + 1], parts[other + 1], takes_other)
        left2, right2 = moments[at + 2], parts[other + 2]
        if width > 3:
            left3, right3 = moments[at + 3], parts[other + 3]
            if width > 4:
                moments[at + 4] = (
                    moments[at + 4]
                    + parts[other + 4]
                    + step * step * step * delta * n1 * n2 * (n1 * n1 - n1 * n2 + n2 * n2)
                    + 6.0 * step * step * (n1 * n1 * right2 + n2 * n2 * left2)
                    + 4.0 * step * (n1 * right3 - n2 * left3)
                )
            moments[at + 3] = (
                left3
                + right3
                + step * step * delta * n1 * n2 * (n1 - n2)
                + 3.0 * step * (n1 * right2 - n2 * left2)
            )
        moments[at] = n1 + n2
        moments[at + 1] = _merged_mean(n1, n2, moments[at + 1], parts[other + 1], step, takes_other)
        moments[at + 2] = left2 + right2 + delta * step * n1 * n2


@kernel(forceinline=True)
def _add_pair(moments: Float64Array, at: int, x: float, y: float) -> None:
    """Add a pair to the moments from index ``at``."""
    n = moments[at] + 1.0
    dx, dy = x - moments[at + 1], y - moments[at + 2]
    mean_x, mean_y = moments[at + 1] + dx / n, moments[at + 2] + dy / n
    moments[at] = n
    moments[at + 1] = mean_x
    moments[at + 2] = mean_y
    moments[at + 3] += dx * (y - mean_y)
    moments[at + 4] += dx * (x - mean_x)
    moments[at + 5] += dy * (y - mean_y)


@kernel
def update_pairs(
    groups: Int64Array, xs: Float64Array, x_bitmap: UInt8Array, x_skip: int, ys: Float64Array, y_bitmap: UInt8Array,
    y_skip: int, moments: Float64Array,
) -> None:  # fmt: skip
    """Add the pairs without a NULL to the moments of their groups (width 6)."""
    for row in range(groups.size):
        if is_valid(x_bitmap, x_skip, row) and is_valid(y_bitmap, y_skip, row):
            _add_pair(moments, groups[row] * 6, xs[row], ys[row])


@kernel
def run_pairs(
    starts: BoolArray, xs: Float64Array, x_bitmap: UInt8Array, x_skip: int, ys: Float64Array, y_bitmap: UInt8Array,
    y_skip: int, moments: Float64Array,
) -> None:  # fmt: skip
    """Set group row + 1 to the moments after each row, from group ``row``, or from zero if the row starts anew."""
    for row in range(starts.size):
        at = (row + 1) * 6
        for moment in range(at, at + 6):
            moments[moment] = 0.0 if starts[row] else moments[moment - 6]
        if is_valid(x_bitmap, x_skip, row) and is_valid(y_bitmap, y_skip, row):
            _add_pair(moments, at, xs[row], ys[row])


@kernel
def frame_pairs(
    begin: Int64Array, end: Int64Array, xs: Float64Array, x_bitmap: UInt8Array, x_skip: int, ys: Float64Array,
    y_bitmap: UInt8Array, y_skip: int, moments: Float64Array,
) -> None:  # fmt: skip
    """Set each group to the moments of a frame (:mod:`~.frames`)."""
    for frame in range(begin.size):
        row, at = begin[frame], frame * 6
        extends = frame > 0 and begin[frame - 1] == row and end[frame - 1] <= end[frame]
        for moment in range(at, at + 6):
            moments[moment] = moments[moment - 6] if extends else 0.0
        for other in range(end[frame - 1] if extends else row, end[frame]):
            if is_valid(x_bitmap, x_skip, other) and is_valid(y_bitmap, y_skip, other):
                _add_pair(moments, at, xs[other], ys[other])


@kernel
def merge_pairs(groups: Int64Array, parts: Float64Array, width: int, takes_other: bool, moments: Float64Array) -> None:
    """Merge the first ``width`` moments of pairs, shape (rows · width,); ``takes_other`` as :func:`merge_moments`."""
    for row in range(groups.size):
        at, other = groups[row] * 6, row * width
        n1, n2 = moments[at], parts[other]
        dx, step_x = _mean_difference(n1, n2, moments[at + 1], parts[other + 1], takes_other)
        dy, step_y = _mean_difference(n1, n2, moments[at + 2], parts[other + 2], takes_other)
        moments[at] = n1 + n2
        moments[at + 1] = _merged_mean(n1, n2, moments[at + 1], parts[other + 1], step_x, takes_other)
        moments[at + 2] = _merged_mean(n1, n2, moments[at + 2], parts[other + 2], step_y, takes_other)
        moments[at + 3] = moments[at + 3] + parts[other + 3] + dx * step_y * n1 * n2
        if width > 4:
            moments[at + 4] = moments[at + 4] + parts[other + 4] + dx * step_x * n1 * n2
            moments[at + 5] = moments[at + 5] + parts[other + 5] + dy * step_y * n1 * n2
