"""Narrow decimals, which come as the integers they are stored as: all of a chunk, or the rows kept, made decimal128."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels import buffers, row_ranges
from pyspark_pipeline.kernels.decimal_words import bitmap_of, decimal_array

#: By column: the decimal128 type of one that may arrive as its unscaled int32 or int64 ("narrow"), else None.
NarrowTypes = Sequence[pa.DataType | None]

_NARROW_FORMS = (pa.int64(), pa.int32())


def without(chunk: pa.RecordBatch, unread: Collection[int]) -> pa.RecordBatch:
    """Put columns of the null type, which cost nothing to filter, in the places ``unread``."""
    if not unread:
        return chunk
    nothing = pa.nulls(chunk.num_rows)
    columns = [nothing if place in unread else column for place, column in enumerate(chunk.columns)]
    return pa.RecordBatch.from_arrays(columns, chunk.schema.names)


def widened(chunk: pa.RecordBatch, narrow: NarrowTypes) -> pa.RecordBatch:
    """Make decimal128 of the narrow columns; the same chunk where there is none."""
    columns = chunk.columns
    changed = False
    for place, column in enumerate(columns):
        if is_narrow(column, narrow, place):
            columns[place] = _widened(column, narrow[place])
            changed = True
    return pa.RecordBatch.from_arrays(columns, chunk.schema.names) if changed else chunk


def is_narrow(column: pa.Array, narrow: NarrowTypes, place: int) -> bool:
    """Say whether the column at ``place`` has come narrow."""
    return bool(narrow) and narrow[place] is not None and column.type in _NARROW_FORMS


def _widened(column: pa.Array, target: pa.DataType) -> pa.Array:
    rows = len(column)
    if not rows:
        return pa.nulls(0, target)
    buffer, words = _new_words(rows)
    widen = row_ranges.widen_longs if pa.types.is_int64(column.type) else row_ranges.widen_ints
    widen(buffers.values(column), words)
    valid = bitmap_of(column.is_valid()) if column.null_count else None
    return decimal_array(target, rows, valid, buffer)


def widened_rows(column: pa.Array, target: pa.DataType, indices: pa.Array, rows: buffers.Array) -> pa.Array:
    """Make decimal128 of some rows of a narrow column; their numbers twice: for Arrow, and int32 for kernels."""
    buffer, words = _new_words(rows.size)
    widen = row_ranges.widen_rows_of_longs if pa.types.is_int64(column.type) else row_ranges.widen_rows_of_ints
    widen(buffers.values(column), rows, words)
    valid = bitmap_of(column.is_valid().take(indices)) if column.null_count else None
    return decimal_array(target, rows.size, valid, buffer)


def _new_words(rows: int) -> tuple[pa.Buffer, buffers.Array]:
    buffer = pa.allocate_buffer(16 * rows)
    return buffer, np.frombuffer(buffer, dtype=np.int64)
