"""Where the batches that a Python function gets end: after as many rows, and bytes, as those that Spark sends.

Spark ends a batch at the first row with which its Arrow vectors have as many bytes as allowed. So the bytes are counted
as Arrow in Java does: each vector has a bitmap of NULLs, and nothing is stored for a NULL of variable length.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.plan.python_functions import BatchLimits

#: Up to how many times the bytes of Arrow's own count a batch may have in Java, and more bytes for small ones.
_MOST_TIMES, _MOST_MORE = 2, 4096


def whole_batches(rows: pa.RecordBatch, limits: BatchLimits) -> list[int]:
    """Return the ends of the batches into which Spark cuts ``rows``; rows after the last end do not fill a batch."""
    is_small = rows.nbytes * _MOST_TIMES + _MOST_MORE * rows.num_columns < limits.size
    ends: list[int] = []
    end = 0
    while True:
        start, end = end, end + limits.rows
        if not is_small:
            end = min(end, start + _rows_of_size(rows.slice(start, limits.rows), limits.size))
        if end > rows.num_rows:
            return ends
        ends.append(end)


def cut_batches(rows: pa.RecordBatch, limits: BatchLimits) -> list[pa.RecordBatch]:
    """Return all rows in batches; the last one, which may be the only one, need not be full."""
    ends = whole_batches(rows, limits)
    if not ends or ends[-1] < rows.num_rows:
        ends.append(rows.num_rows)
    starts = [0, *ends[:-1]]
    return [rows.slice(start, end - start) for start, end in zip(starts, ends, strict=True)]


def _rows_of_size(rows: pa.RecordBatch, size: int) -> int:
    """Return how many of the rows have ``size`` bytes together; one more than there are if they have fewer."""
    sizes = _sum([_sizes(column) for column in rows.columns])
    return max(1, int(np.searchsorted(sizes, size)))


def _sum(sizes: Sequence[np.ndarray]) -> np.ndarray:
    return np.array(np.sum(sizes, axis=0, dtype=np.int64))


def _sizes(column: pa.Array) -> np.ndarray:
    """Return the bytes of the vector of the first 0, 1, 2 … values, which grow with each."""
    kind = column.type
    count = len(column)
    numbers = np.arange(count + 1, dtype=np.int64)
    bitmap: np.ndarray = (numbers + 7) // 8
    if pa.types.is_boolean(kind):
        return 2 * bitmap
    if pa.types.is_struct(kind):
        fields = [_sizes(column.field(place)) for place in range(kind.num_fields)]
        return bitmap + _sum(fields) if fields else np.zeros(count + 1, dtype=np.int64)
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        offsets = column.offsets.to_numpy() if count else np.zeros(1, dtype=np.int32)
        elements = column.values[int(offsets[0]) : int(offsets[-1])]
        sizes: np.ndarray = bitmap + 4 * (numbers + 1) + _sizes(elements)[offsets - offsets[0]]
        sizes[0] = 0
        return sizes
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        lengths = np.diff(_offsets(column)).astype(np.int64)
        if column.null_count:
            lengths[np.asarray(column.is_null())] = 0
        sizes = bitmap + 4 * (numbers + 1)
        sizes[1:] += np.cumsum(lengths)
        sizes[0] = 0
        return sizes
    return np.array(bitmap + numbers * (kind.bit_width // 8))


def _offsets(column: pa.Array) -> np.ndarray:
    buffer = column.buffers()[1]
    if buffer is None or not len(column):
        return np.zeros(len(column) + 1, dtype=np.int32)
    return np.frombuffer(buffer, dtype=np.int32)[column.offset : column.offset + len(column) + 1]
