"""Kernels of PERCENTILE_APPROX: the quantile summaries of Greenwald and Khanna, as Spark's ``QuantileSummaries``.

A summary has the number of its values and samples in ascending order. A sample has a value (float64), the number of
values that it stands for (``g``), and the uncertainty of its rank (``delta``; both int64).
M. Greenwald and S. Khanna, "Space-efficient Online Computation of Quantile Summaries", 2001.
"""

from __future__ import annotations

import math

import numpy as np

from pyspark_pipeline.kernels.arrays import Float64Array, Int64Array
from pyspark_pipeline.kernels.jit import kernel

#: Spark inserts so many values at a time, and compresses a summary with so many samples.
HEAD_SIZE = 50_000
COMPRESSED_FROM = 10_000

#: Values, ``g`` and ``delta`` of samples.
Samples = tuple[Float64Array, Int64Array, Int64Array]


@kernel
def insert_values(
    values: Float64Array, gs: Int64Array, deltas: Int64Array, count: int, new: Float64Array, error: float
) -> tuple[Float64Array, Int64Array, Int64Array]:
    """Return the samples of a summary of ``count`` values after the insertion of ``new``, sorted (NaN last)."""
    size = values.size + new.size
    out_values = np.empty(size, dtype=np.float64)
    out_gs = np.empty(size, dtype=np.int64)
    out_deltas = np.empty(size, dtype=np.int64)
    at = 0
    old = 0
    for i in range(new.size):
        while old < values.size and values[old] <= new[i]:
            out_values[at] = values[old]
            out_gs[at] = gs[old]
            out_deltas[at] = deltas[old]
            at += 1
            old += 1
        count += 1
        is_end = at == 0 or (old == values.size and i == new.size - 1)
        out_values[at] = new[i]
        out_gs[at] = 1
        out_deltas[at] = 0 if is_end else np.int64(math.floor(2 * error * count))
        at += 1
    while old < values.size:
        out_values[at] = values[old]
        out_gs[at] = gs[old]
        out_deltas[at] = deltas[old]
        at += 1
        old += 1
    return out_values, out_gs, out_deltas


@kernel
def compress_samples(
    values: Float64Array, gs: Int64Array, deltas: Int64Array, threshold: float
) -> tuple[Float64Array, Int64Array, Int64Array]:
    """Return the samples with neighbours joined whose joint uncertainty is less than ``threshold``."""
    size = values.size
    if size == 0:
        return values, gs, deltas
    out_values = np.empty(size, dtype=np.float64)
    out_gs = np.empty(size, dtype=np.int64)
    out_deltas = np.empty(size, dtype=np.int64)
    at = size - 1
    value, g, delta = values[at], gs[at], deltas[at]
    for i in range(size - 2, 0, -1):
        if gs[i] + g + delta < threshold:
            g += gs[i]
        else:
            out_values[at] = value
            out_gs[at] = g
            out_deltas[at] = delta
            at -= 1
            value, g, delta = values[i], gs[i], deltas[i]
    out_values[at] = value
    out_gs[at] = g
    out_deltas[at] = delta
    if values[0] <= value and size > 1:
        at -= 1
        out_values[at] = values[0]
        out_gs[at] = gs[0]
        out_deltas[at] = deltas[0]
    return out_values[at:].copy(), out_gs[at:].copy(), out_deltas[at:].copy()


@kernel
def merge_samples(
    values: Float64Array, gs: Int64Array, deltas: Int64Array, added: int, others: Float64Array, other_gs: Int64Array,
    other_deltas: Int64Array, other_added: int,
) -> tuple[Float64Array, Int64Array, Int64Array]:  # fmt: skip
    """Return the samples of two summaries in order.

    The uncertainty of a sample between those of the other summary grows: by ``added``, in the second ``other_added``.
    """
    size = values.size + others.size
    out_values = np.empty(size, dtype=np.float64)
    out_gs = np.empty(size, dtype=np.int64)
    out_deltas = np.empty(size, dtype=np.int64)
    mine = 0
    other = 0
    for at in range(size):
        is_between = mine < values.size and other < others.size
        if other == others.size or (is_between and values[mine] < others[other]):
            out_values[at] = values[mine]
            out_gs[at] = gs[mine]
            out_deltas[at] = deltas[mine] + (added if is_between and other > 0 else 0)
            mine += 1
        else:
            out_values[at] = others[other]
            out_gs[at] = other_gs[other]
            out_deltas[at] = other_deltas[other] + (other_added if is_between and mine > 0 else 0)
            other += 1
    return out_values, out_gs, out_deltas


@kernel
def query_samples(
    values: Float64Array, gs: Int64Array, deltas: Int64Array, count: int, percentages: Float64Array, error: float,
    results: Float64Array,
) -> None:  # fmt: skip
    """Write the values at ``percentages``, which ascend, of a summary that is not empty."""
    last = values.size - 1
    largest = gs[0] + deltas[0]
    for i in range(values.size):
        largest = max(largest, gs[i] + deltas[i])
    allowed = np.float64(largest // 2)
    at = 0
    rank = gs[0]
    for i in range(percentages.size):
        if percentages[i] <= error:
            results[i] = values[0]
        elif percentages[i] >= 1 - error:
            results[i] = values[last]
        else:
            wanted = np.float64(math.ceil(percentages[i] * count))
            while at < last:
                if np.float64(rank + deltas[at]) - allowed <= wanted and wanted <= np.float64(rank) + allowed:
                    break
                at += 1
                rank += gs[at]
            if at == last:
                rank = 0
            results[i] = values[at]
