"""Conversion of unscaled decimals, which arrive as their physical integers, to decimal128: all or selected rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels import buffers, row_ranges
from pyspark_pipeline.kernels.arrays import Int32Array, Int64Array
from pyspark_pipeline.kernels.decimal_words import bitmap_of, decimal_array
from pyspark_pipeline.kernels.take import take
from pyspark_pipeline.plan.expr import Call, chosen_places

#: By column: the decimal128 type of a decimal that may arrive as its unscaled int32 or int64, else None.
UnscaledTypes = Sequence[pa.DataType | None]

_UNSCALED_TYPES = (pa.int64(), pa.int32())


def unscale_values(call: Call) -> Call:
    """Return the choice among unscaled values that is equal to the unscaled value of a choice; other calls unchanged.

    Sums of decimals in branches of CASE read the same decimals: they are unscaled once, and half as many bytes are
    chosen from.
    """
    if call.name != "UnscaledValue" or not isinstance(choice := call.args[0], Call):
        return call
    places = chosen_places(choice)
    if not places:
        return call
    args = (replace(call, args=(arg,)) if place in places else arg for place, arg in enumerate(choice.args))
    return replace(choice, type=call.type, args=tuple(args))


def drop_columns(chunk: pa.RecordBatch, unused_columns: Collection[int]) -> pa.RecordBatch:
    """Replace ``unused_columns`` by columns of the null type, which cost nothing to filter."""
    if not unused_columns:
        return chunk
    nothing = pa.nulls(chunk.num_rows)
    columns = [nothing if position in unused_columns else column for position, column in enumerate(chunk.columns)]
    return pa.RecordBatch.from_arrays(columns, chunk.schema.names)


def to_decimal128(chunk: pa.RecordBatch, unscaled: UnscaledTypes) -> pa.RecordBatch:
    """Convert the unscaled columns to decimal128; return the same chunk if there are none."""
    columns = chunk.columns
    changed = False
    for position, column in enumerate(columns):
        if is_unscaled(column, unscaled, position):
            columns[position] = widened(column, unscaled[position])
            changed = True
    return pa.RecordBatch.from_arrays(columns, chunk.schema.names) if changed else chunk


def is_unscaled(column: pa.Array, unscaled: UnscaledTypes, position: int) -> bool:
    """Return whether the column at ``position`` holds the unscaled integers of decimals."""
    return bool(unscaled) and unscaled[position] is not None and column.type in _UNSCALED_TYPES


def widened(column: pa.Array, target: pa.DataType) -> pa.Array:
    """Convert a column of unscaled integers, int32 or int64, to the decimal128 ``target``."""
    rows = len(column)
    if not rows:
        return pa.nulls(0, target)
    buffer, words = _new_words(rows)
    widen = row_ranges.widen_longs if pa.types.is_int64(column.type) else row_ranges.widen_ints
    widen(buffers.values(column), words)
    valid = bitmap_of(column.is_valid()) if column.null_count else None
    return decimal_array(target, rows, valid, buffer)


def rows_to_decimal128(column: pa.Array, target: pa.DataType, rows: Int32Array) -> pa.Array:
    """Convert rows (int32) of an unscaled column to decimal128."""
    buffer, words = _new_words(rows.size)
    widen = row_ranges.widen_rows_of_longs if pa.types.is_int64(column.type) else row_ranges.widen_rows_of_ints
    widen(buffers.values(column), rows, words)
    valid = bitmap_of(take(column.is_valid(), rows)) if column.null_count else None
    return decimal_array(target, rows.size, valid, buffer)


def _new_words(rows: int) -> tuple[pa.Buffer, Int64Array]:
    buffer = pa.allocate_buffer(16 * rows)
    return buffer, np.frombuffer(buffer, dtype=np.int64)
