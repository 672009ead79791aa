"""Offsets of maps that have no row, as within arrays that are all empty.

Arrow's Java library writes no offsets for a vector without rows; pyarrow reads the first offset of a map nevertheless,
and the process crashes.
"""

from __future__ import annotations

import pyarrow as pa


def with_offsets(chunk: pa.RecordBatch) -> pa.RecordBatch:
    """Return ``chunk`` with offsets for all maps of its columns; the chunk itself if none lacks them."""
    if not any(_has_map(field.type) for field in chunk.schema):
        return chunk
    given = chunk.columns
    columns = [_with_offsets(column) for column in given]
    if all(new is old for new, old in zip(columns, given, strict=True)):
        return chunk
    return pa.RecordBatch.from_arrays(columns, schema=chunk.schema)


def _has_map(kind: pa.DataType) -> bool:
    if pa.types.is_map(kind):
        return True
    return any(_has_map(kind.field(place).type) for place in range(kind.num_fields))


def _with_offsets(array: pa.Array) -> pa.Array:
    kind = array.type
    if not _has_map(kind):
        return array
    if not len(array):
        return pa.array([], kind)
    if pa.types.is_struct(kind):
        children = [array.field(place) for place in range(kind.num_fields)]
    elif pa.types.is_map(kind):
        children = [pa.StructArray.from_arrays([array.keys, array.items], fields=list(kind.field(0).type))]
    else:
        children = [array.values]
    changed = [_with_offsets(child) for child in children]
    if all(new is old for new, old in zip(changed, children, strict=True)):
        return array
    own = array.buffers()[: 1 if pa.types.is_struct(kind) else 2]
    return pa.Array.from_buffers(kind, len(array), own, array.null_count, array.offset, children=changed)
