"""Spark's bytes of arrays, maps and structs: UnsafeArrayData, UnsafeMapData and UnsafeRow, as binary values.

An array is: the number of elements, their NULL bits, then elements of up to 8 bytes in their own width, padded
together, or a word for each and the padded bytes. A map is the size of the array of its keys, and the arrays of its
keys and its values. A struct is: NULL bits, a word for each field, padded bytes. Values within others are padded bytes,
too. The forms are those of the lists in :mod:`~pyspark_pipeline.kernels.unsafe_arrays`.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array
from pyspark_pipeline.kernels.buffers import allocate_zeros, pack_validity, string_parts
from pyspark_pipeline.kernels.unsafe_arrays import (
    Field,
    fixed_places,
    fixed_values,
    is_text,
    read_field,
    read_fixed,
    row_head,
    scatter_texts,
    texts_at,
    words_at,
    write_rows,
)

_SIZE = 0xFFFFFFFF
_WORD = pa.int64()


def stored_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the stored values: binary for nested ones, a word for those of no type."""
    if pa.types.is_nested(kind):
        return pa.binary()
    return _WORD if pa.types.is_null(kind) else kind


def to_stored(column: pa.Array) -> pa.Array:
    """Return a column as it is stored: the bytes of nested values, any other column unchanged; NULL for NULL.

    Decimals have up to 18 digits. Raise ``ArrowCapacityError`` beyond 2 GiB.
    """
    kind = column.type
    if pa.types.is_null(kind):
        return pa.nulls(len(column), _WORD)
    if not pa.types.is_nested(kind):
        return column
    if column.null_count:
        rows = np.flatnonzero(np.asarray(column.is_valid()))
        places = np.cumsum(np.asarray(column.is_valid())) - 1
        found = to_stored(column.take(pa.array(rows)))
        return found.take(pa.array(places, mask=np.asarray(column.is_null())))
    if pa.types.is_struct(kind):
        return _rows([column.field(number) for number in range(kind.num_fields)], len(column))
    bounds = column.offsets.to_numpy().astype(np.int64) if len(column) else np.zeros(1, dtype=np.int64)
    start, stop = int(bounds[0]), int(bounds[-1])
    if pa.types.is_map(kind):
        return _maps(*(_arrays(bounds - start, part[start:stop]) for part in (column.keys, column.items)))
    return _arrays(bounds - start, column.values[start:stop])


def of_stored(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the values of a type of which :func:`to_stored` made a column."""
    if pa.types.is_null(kind):
        return pa.nulls(len(column))
    if not pa.types.is_nested(kind):
        return column
    valid = np.asarray(column.is_valid())
    offsets, data = string_parts(column.fill_null(b""))
    starts = offsets[:-1].astype(np.int64) - int(offsets[0])
    owned = allocate_zeros(max(int(offsets[-1]) - int(offsets[0]), 8) // 8, np.int64)
    owned.view(np.uint8)[: int(offsets[-1]) - int(offsets[0])] = data[int(offsets[0]) : int(offsets[-1])]
    if pa.types.is_struct(kind):
        return _structs_of(owned, starts, valid, kind)
    if pa.types.is_map(kind):
        sizes = np.where(valid, owned[np.where(valid, starts, 0) // 8], 0)
        counts, keys = _elements_of(owned, starts + 8, valid, kind.key_type)
        items = _elements_of(owned, starts + 8 + sizes, valid, kind.item_type)[1]
        elements = pa.StructArray.from_arrays([keys, items], fields=[kind.key_field, kind.item_field])
    else:
        counts, elements = _elements_of(owned, starts, valid, kind.value_type)
    mask, nulls = pack_validity(valid)
    ends = np.append(0, np.cumsum(counts)).astype(np.int32)
    return pa.Array.from_buffers(kind, len(column), [mask, pa.py_buffer(ends)], nulls, children=[elements])


def _binary(ends: Int64Array, words: Int64Array) -> pa.Array:
    if ends[-1] > np.iinfo(np.int32).max:
        raise pa.ArrowCapacityError(f"{ends.size - 1} nested values have {ends[-1]} bytes")
    parts = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(words)]
    return pa.Array.from_buffers(pa.binary(), ends.size - 1, parts)


def _rows(columns: list[pa.Array], rows: int) -> pa.Array:
    """Return the bytes of structs that are not NULL."""
    fields = [Field(to_stored(column)) for column in columns]
    sizes = row_head(len(fields)) + sum((field.padded for field in fields), np.zeros(rows, dtype=np.int64))
    ends = np.append(0, np.cumsum(sizes))
    words = allocate_zeros(int(ends[-1]) // 8, np.int64)
    write_rows(fields, ends[:-1], words)
    return _binary(ends, words)


def _arrays(bounds: Int64Array, elements: pa.Array) -> pa.Array:
    """Return the bytes of arrays that are not NULL, whose elements begin and end at ``bounds``."""
    counts, elements = np.diff(bounds), to_stored(elements)
    heads = words_at(counts)
    nulls = np.flatnonzero(np.asarray(elements.is_null()))
    numbers = np.arange(len(elements)) - np.repeat(bounds[:-1], counts)
    if is_text(elements.type):
        field = Field(elements)
        inside = np.append(0, np.cumsum(field.padded))
        ends = np.append(0, np.cumsum(heads + 8 * counts + inside[bounds[1:]] - inside[bounds[:-1]]))
        words = allocate_zeros(int(ends[-1]) // 8, np.int64)
        at = np.repeat(heads + 8 * counts - inside[bounds[:-1]], counts) + inside[:-1]
        starts = np.repeat(ends[:-1], counts)
        sizes = np.diff(field.offsets).astype(np.int64)
        marks = (starts + np.repeat(heads, counts)) // 8 + numbers
        words[marks] = np.where(field.is_null, 0, (at << 32) | sizes)
        scatter_texts(field.offsets, field.data, starts + at, words.view(np.uint8))
    else:
        data = fixed_values(elements.fill_null(False) if pa.types.is_boolean(elements.type) else elements).copy()
        data[nulls] = 0
        width = data.dtype.itemsize
        ends = np.append(0, np.cumsum(heads + ((counts * width + 7) & ~7)))
        words = allocate_zeros(int(ends[-1]) // 8, np.int64)
        words.view(data.dtype)[fixed_places(ends[:-1] + heads, counts, width)] = data
    words[ends[:-1] // 8] = counts
    owners = np.repeat(ends[:-1], counts)[nulls]
    bits = np.uint8(1) << (numbers[nulls] & 7).astype(np.uint8)
    np.bitwise_or.at(words.view(np.uint8), owners + 8 + (numbers[nulls] >> 3), bits)
    return _binary(ends, words)


def _maps(keys: pa.Array, items: pa.Array) -> pa.Array:
    """Return the bytes of maps of the arrays of their keys and values."""
    (key_ends, key_data), (item_ends, item_data) = string_parts(keys), string_parts(items)
    sizes = np.diff(key_ends).astype(np.int64), np.diff(item_ends).astype(np.int64)
    ends = np.append(0, np.cumsum(8 + sizes[0] + sizes[1]))
    words = allocate_zeros(int(ends[-1]) // 8, np.int64)
    words[ends[:-1] // 8] = sizes[0]
    scatter_texts(key_ends, key_data, ends[:-1] + 8, words.view(np.uint8))
    scatter_texts(item_ends, item_data, ends[:-1] + 8 + sizes[0], words.view(np.uint8))
    return _binary(ends, words)


def _elements_of(
    words: Int64Array, starts: Int64Array, valid: BoolArray, kind: pa.DataType
) -> tuple[Int64Array, pa.Array]:
    """Return the numbers of elements of arrays, none of rows that are not valid, and all elements."""
    counts = np.where(valid, words[np.where(valid, starts, 0) // 8], 0)
    data, stored = words.view(np.uint8), stored_type(kind)
    firsts = starts + words_at(counts)
    numbers = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    is_null = (data[np.repeat(starts + 8, counts) + (numbers >> 3)] >> (numbers & 7).astype(np.uint8)) & 1 != 0
    if is_text(stored):
        found = words[np.repeat(firsts, counts) // 8 + numbers]
        elements = texts_at(data, np.repeat(starts, counts) + (found >> 32), found & _SIZE, stored, ~is_null)
    else:
        elements = read_fixed(data, firsts, counts, stored)
        if is_null.any():
            elements = elements.take(pa.array(np.arange(is_null.size), mask=is_null))
    return counts, of_stored(elements, kind)


def _structs_of(words: Int64Array, starts: Int64Array, valid: BoolArray, kind: pa.StructType) -> pa.Array:
    places = np.flatnonzero(valid)
    types = [stored_type(field.type) for field in kind]
    columns = [
        of_stored(read_field(words.view(np.uint8), words, starts[places], number, types), field.type)
        for number, field in enumerate(kind)
    ]
    found = pa.StructArray.from_arrays(columns, fields=list(kind))
    return found.take(pa.array(np.cumsum(valid) - 1, mask=~valid))
