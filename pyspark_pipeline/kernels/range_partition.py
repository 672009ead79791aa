"""Range partitioning by sort keys: the bounds between ranges, and the range of each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import Float64Array, Int32Array, Int64Array
from pyspark_pipeline.kernels.sort_fields import SortColumn
from pyspark_pipeline.kernels.sort_order import rank_rows


def bound_rows(columns: Sequence[SortColumn], weights: Float64Array, ranges: int) -> Int64Array:
    """Return the numbers of the sample rows that bound the ranges, in sort order: ``ranges`` − 1 at most.

    ``weights`` is the number of rows that each sample row represents. Bounds are distinct, so there may be fewer.
    """
    rows = weights.size
    ranks = rank_rows(columns, rows)
    order = np.argsort(ranks, kind="stable")
    reached = np.cumsum(weights[order])
    wanted = reached[-1] * np.arange(1, ranges) / ranges
    at = order[np.minimum(np.searchsorted(reached, wanted), rows - 1)]
    _, first = np.unique(ranks[at], return_index=True)
    chosen: Int64Array = at[first]
    return chosen


def range_ids(columns: Sequence[SortColumn], bounds: Sequence[pa.Array], rows: int) -> Int32Array:
    """Return the range of each row: the number of ``bounds`` (key columns, in order) that sort before it."""
    count = len(bounds[0])
    both = [
        replace(column, values=pa.concat_arrays([bound, _plain(column.values)]))
        for column, bound in zip(columns, bounds, strict=True)
    ]
    ranks = rank_rows(both, count + rows)
    return np.searchsorted(ranks[:count], ranks[count:]).astype(np.int32)


def _plain(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
