"""Offsets of arrays, maps, strings and binaries that have no row, as within arrays that are all empty.

Arrow's Java library writes no offsets for a vector without rows; pyarrow reads the first offset nevertheless, and the
process crashes.
"""

from __future__ import annotations

import pyarrow as pa


def with_offsets(chunk: pa.RecordBatch) -> pa.RecordBatch:
    """Return ``chunk`` with offsets for all vectors of its nested columns; the chunk itself if none lacks them."""
    if not any(pa.types.is_nested(kind) for kind in chunk.schema.types):
        return chunk
    given = chunk.columns
    columns = [_with_offsets(column) if pa.types.is_nested(column.type) else column for column in given]
    if all(new is old for new, old in zip(columns, given, strict=True)):
        return chunk
    return pa.RecordBatch.from_arrays(columns, schema=chunk.schema)


def _has_offsets(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return any(_has_offsets(field.type) for field in kind)
    return bool(pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_string(kind))


def _with_offsets(array: pa.Array) -> pa.Array:
    kind = array.type
    if not _has_offsets(kind):
        return array
    if not len(array):
        return pa.array([], kind)
    if not pa.types.is_nested(kind):
        return array
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
