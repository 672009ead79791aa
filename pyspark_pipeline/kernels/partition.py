"""Grouping of row numbers by partition with prefix sums: stable, one pass to count and one to scatter."""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Int32Array, Int64Array
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.jit import kernel


@kernel
def _group_rows(ids: Int32Array, starts: Int64Array, rows: Int32Array) -> None:
    for i in range(ids.size):
        starts[ids[i]] += 1
    total = np.int64(0)
    for p in range(starts.size):
        total += starts[p]
        starts[p] = total
    for i in range(ids.size - 1, -1, -1):
        starts[ids[i]] -= 1
        rows[starts[ids[i]]] = i


def group_rows(ids: Int32Array, count: int) -> tuple[Int64Array, Int32Array]:
    """Sort row numbers by partition.

    ``ids``: int32, shape (rows,), each in 0 … count − 1. Return ``starts`` (int64, shape (count + 1,)) and
    ``rows`` (int32, shape (rows,)): the rows of partition p are ``rows[starts[p]:starts[p + 1]]``, ascending.
    """
    starts = np.zeros(count + 1, dtype=np.int64)
    rows = allocate(ids.size, np.int32)
    _group_rows(ids, starts, rows)
    return starts, rows


def grouped_order(groups: Int64Array) -> Int32Array:
    """Return row numbers by group, in the order of rows within each: int32, shape (rows,). Groups are from 0 on."""
    return group_rows(groups.astype(np.int32), int(groups.max(initial=-1)) + 1)[1]
