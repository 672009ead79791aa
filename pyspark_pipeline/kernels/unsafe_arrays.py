"""Spark's serialized lists of collecting aggregate functions: an UnsafeRow with one array, of values or of rows.

A list is: 8 bytes without NULL, the place of the array; the number of elements, their NULL bits, a word for each
element; then the elements. The element is a string, padded to 8 bytes, or an UnsafeRow: NULL bits, a word for each
field, the padded strings of the row. The word of what is not within 8 bytes has its offset above its size. Elements of
up to 8 bytes have no words: they follow the NULL bits, in their own width, and are padded together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import Array, BoolArray, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.buffers import (
    allocate,
    allocate_zeros,
    bool_array,
    copied,
    decimal_words,
    fixed_array,
    pack_validity,
    string_parts,
    values,
)
from pyspark_pipeline.kernels.jit import kernel

_ROW = 16
_SIZE = 0xFFFFFFFF


def write_lists(
    columns: Sequence[pa.Array], bounds: Int64Array, marks: Int64Array | None = None, *, are_rows: bool = False
) -> tuple[Int64Array, UInt8Array]:
    """Return the offsets (int64) and the bytes of the lists of groups, whose elements begin and end at ``bounds``.

    ``columns`` are the fields of the elements; a single one has no NULL, and is the element unless the elements
    ``are_rows``. ``marks`` (int64), for lists that Spark does not read, take the place of the NULL bits of the row.
    """
    offsets, data = _write_lists(columns, bounds, are_rows or len(columns) > 1)
    if marks is not None:
        data.view(np.int64)[offsets[:-1] // 8] = marks
    return offsets, data


def _write_lists(columns: Sequence[pa.Array], bounds: Int64Array, are_rows: bool) -> tuple[Int64Array, UInt8Array]:
    if not are_rows and not is_text(columns[0].type):
        return _write_fixed(fixed_values(columns[0]), bounds)
    counts = np.diff(bounds)
    fields = [Field(column) for column in columns]
    head = row_head(len(fields)) if are_rows else 0
    sizes = head + sum((field.padded for field in fields), np.zeros(int(bounds[-1] - bounds[0]), dtype=np.int64))
    ends = np.append(0, np.cumsum(sizes))
    bytes_of = ends[bounds[1:] - bounds[0]] - ends[bounds[:-1] - bounds[0]]
    heads = _array_head(counts)
    offsets = np.append(0, np.cumsum(_ROW + heads + bytes_of))
    words = allocate_zeros(int(offsets[-1]) // 8, np.int64)
    starts = offsets[:-1]
    words[starts // 8 + 1] = (_ROW << 32) | (heads + bytes_of)
    words[starts // 8 + 2] = counts
    first = np.repeat(bounds[:-1] - bounds[0], counts)
    numbers = np.arange(first.size) - first
    inside = np.repeat(heads, counts) + ends[:-1] - ends[first]
    marks = np.repeat(starts + _ROW + words_at(counts), counts) // 8 + numbers
    words[marks] = (inside << 32) | (sizes if are_rows else np.diff(fields[0].offsets).astype(np.int64))
    places = np.repeat(starts + _ROW, counts) + inside
    if head:
        write_rows(fields, places, words)
    else:
        scatter_texts(fields[0].offsets, fields[0].data, places, words.view(np.uint8))
    return offsets, words.view(np.uint8)


def fixed_values(column: pa.Array) -> Array:
    """Return values of up to 8 bytes in their width; those of decimals of up to 18 digits as int64."""
    if pa.types.is_boolean(column.type):
        return np.asarray(column).astype(np.uint8)
    if pa.types.is_decimal(column.type):
        return decimal_words(column)[::2]
    return values(column)


def _write_fixed(data: Array, bounds: Int64Array) -> tuple[Int64Array, UInt8Array]:
    """Return the offsets and the bytes of lists of elements of up to 8 bytes."""
    width = data.dtype.itemsize
    offsets = allocate(bounds.size, np.int64)
    words = allocate(int(_write_offsets(bounds, width, offsets)) // 8, np.int64)
    kind = np.dtype(f"i{width}")
    _write_elements(np.ascontiguousarray(data).view(kind), bounds, offsets, words, words.view(kind))
    return offsets, words.view(np.uint8)


@kernel
def _write_offsets(bounds: Int64Array, width: int, offsets: Int64Array) -> int:
    """Write the offsets of lists of elements of ``width`` bytes; return the last."""
    end = np.int64(0)
    offsets[0] = 0
    for group in range(bounds.size - 1):
        count = bounds[group + 1] - bounds[group]
        end += _ROW + 8 + 8 * ((count + 63) >> 6) + ((count * width + 7) & ~7)
        offsets[group + 1] = end
    return end


@kernel
def _write_elements(data: Array, bounds: Int64Array, offsets: Int64Array, words: Int64Array, elements: Array) -> None:
    """Write lists, which are all of ``words``, also seen as ``elements`` of the width of ``data``."""
    in_word = elements.size // max(words.size, 1)
    for group in range(bounds.size - 1):
        first, count = bounds[group], bounds[group + 1] - bounds[group]
        word, end = np.uint64(offsets[group] >> 3), np.uint64(offsets[group + 1] >> 3)
        words[word] = 0
        words[word + np.uint64(1)] = (np.int64(_ROW) << 32) | (8 * np.int64(end - word) - _ROW)
        words[word + np.uint64(2)] = count
        start = word + np.uint64(3 + ((count + 63) >> 6))
        for place in range(word + np.uint64(3), start):
            words[place] = 0
        if end > start:
            words[end - np.uint64(1)] = 0
        at = start * np.uint64(in_word)
        for place in range(np.uint64(count)):
            elements[at + place] = data[np.uint64(first) + place]


@kernel
def _count_elements(words: Int64Array, offsets: Int32Array) -> int:
    """Return the number of elements of lists, of which the first begins at the first word."""
    total = np.int64(0)
    for row in range(offsets.size - 1):
        total += words[((offsets[row] - offsets[0]) >> 3) + 2]
    return total


@kernel
def _read_elements(
    words: Int64Array, elements: Array, offsets: Int32Array, groups: Int64Array, owners: Int64Array, out: Array
) -> None:
    """Write the elements of up to 8 bytes of lists to ``out``, and the group of each to ``owners``."""
    in_word = np.uint64(elements.size // max(words.size, 1))
    at = np.uint64(0)
    for row in range(groups.size):
        word = np.uint64((offsets[row] - offsets[0]) >> 3)
        count = np.uint64(words[word + np.uint64(2)])
        start = (word + np.uint64(3) + ((count + np.uint64(63)) >> np.uint64(6))) * in_word
        for place in range(count):
            out[at] = elements[start + place]
            owners[at] = groups[row]
            at += np.uint64(1)


def _read_fixed_lists(
    groups: Int64Array, offsets: Int32Array, words: Int64Array, kind: pa.DataType
) -> tuple[Int64Array, pa.Array]:
    """Return the group of each element of lists of elements of up to 8 bytes, and the elements."""
    total = int(_count_elements(words, offsets))
    item = np.dtype(f"i{_width(kind)}")
    owners, found = allocate(total, np.int64), allocate(total, item)
    _read_elements(words, words.view(item), offsets, groups, owners, found)
    return owners, _array_of(found, kind)


def _width(kind: pa.DataType) -> int:
    """Return the bytes of an element of up to 8 bytes."""
    return 1 if pa.types.is_boolean(kind) else 8 if pa.types.is_decimal(kind) else kind.bit_width // 8


def _array_of(found: Array, kind: pa.DataType) -> pa.Array:
    """Return the values that :func:`fixed_values` returned, as an array of ``kind``."""
    if pa.types.is_boolean(kind):
        return bool_array(found != 0)
    return fixed_array(kind, np.stack([found, found >> 63], axis=1) if pa.types.is_decimal(kind) else found)


def read_fixed(data: UInt8Array, firsts: Int64Array, counts: Int64Array, kind: pa.DataType) -> pa.Array:
    """Return the elements of up to 8 bytes of lists, whose first elements are at the bytes ``firsts``."""
    width = _width(kind)
    return _array_of(data.view(f"<i{width}")[fixed_places(firsts, counts, width)], kind)


def fixed_places(firsts: Int64Array, counts: Int64Array, width: int) -> Int64Array:
    """Return the positions of the elements of lists, in units of ``width`` bytes."""
    ends = np.cumsum(counts)
    places: Int64Array = np.arange(ends[-1] if ends.size else 0) + np.repeat(firsts // width - (ends - counts), counts)
    return places


def row_head(fields: int) -> int:
    """Return the bytes of the NULL bits and of the words of a row."""
    return 8 * ((fields + 63) // 64) + 8 * fields


def words_at(counts: Int64Array) -> Int64Array:
    """Return the position of the elements' words in arrays."""
    at: Int64Array = 8 + 8 * ((counts + 63) // 64)
    return at


def _array_head(counts: Int64Array) -> Int64Array:
    head: Int64Array = words_at(counts) + 8 * counts
    return head


def write_rows(fields: Sequence[Field], places: Int64Array, words: Int64Array) -> None:
    """Write elements that are rows, from ``places`` on."""
    base = 8 * ((len(fields) + 63) // 64)
    at = np.full(places.size, row_head(len(fields)), dtype=np.int64)
    for number, field in enumerate(fields):
        words[places // 8 + number // 64] |= field.is_null.astype(np.int64) << (number % 64)
        fixed = field.words
        if fixed is None:
            lengths = np.diff(field.offsets).astype(np.int64)
            fixed = np.where(field.is_null, 0, (at << 32) | lengths)
            scatter_texts(field.offsets, field.data, places + at, words.view(np.uint8))
            at = at + field.padded
        words[(places + base) // 8 + number] = fixed


class Field:
    """A column of elements: the words of values within 8 bytes, or the bytes of strings without those of NULLs."""

    def __init__(self, column: pa.Array) -> None:
        rows = len(column)
        self.is_null = np.asarray(column.is_null()) if column.null_count else np.zeros(rows, dtype=np.bool_)
        self.words: Int64Array | None = None
        self.padded = np.zeros(rows, dtype=np.int64)
        if is_text(column.type):
            column = column.fill_null(b"" if pa.types.is_binary(column.type) else "") if column.null_count else column
            self.offsets, self.data = string_parts(column)
            self.padded = (np.diff(self.offsets).astype(np.int64) + 7) & ~7
        elif pa.types.is_boolean(column.type):
            self.words = np.asarray(column.fill_null(False)).astype(np.int64)
        elif pa.types.is_decimal(column.type):
            self.words = np.where(self.is_null, 0, decimal_words(column)[::2])
        else:
            data = values(column)
            words = np.zeros(rows, dtype=np.int64)
            words.view(data.dtype)[:: 8 // data.dtype.itemsize] = data
            self.words = np.where(self.is_null, 0, words)


def is_text(kind: pa.DataType) -> bool:
    """Return whether values of a type are strings or bytes."""
    return kind in (pa.string(), pa.binary())


def read_lists(
    groups: Int64Array, lists: pa.Array, types: Sequence[pa.DataType], *, are_rows: bool = False
) -> tuple[Int64Array, list[pa.Array]]:
    """Read the lists of groups; return the group of each element, and the columns of its fields, of ``types``.

    A single field is the element unless the elements ``are_rows``.
    """
    are_rows = are_rows or len(types) > 1
    offsets, data = string_parts(lists)
    owned = data[int(offsets[0]) : int(offsets[-1])]
    if owned.ctypes.data % 8:
        owned = copied(owned)
    words = owned.view(np.int64)
    if not are_rows and not is_text(types[0]):
        owners, elements = _read_fixed_lists(groups, offsets, words, types[0])
        return owners, [elements]
    starts = offsets[:-1].astype(np.int64) - int(offsets[0])
    counts = words[starts // 8 + 2]
    first = np.append(0, np.cumsum(counts))
    numbers = np.arange(first[-1]) - np.repeat(first[:-1], counts)
    found = words[np.repeat(starts + _ROW + words_at(counts), counts) // 8 + numbers]
    places = np.repeat(starts + _ROW, counts) + (found >> 32)
    if not are_rows:
        columns = [texts_at(owned, places, found & _SIZE, types[0], None)]
    else:
        columns = [read_field(owned, words, places, number, types) for number in range(len(types))]
    return np.repeat(groups, counts), columns


def read_heads(lists: pa.Array) -> tuple[Int64Array, Int64Array]:
    """Return the marks of lists, 0 in those of Spark, and the numbers of their elements; int64."""
    offsets, data = string_parts(lists)
    heads = data[offsets[:-1].astype(np.int64)[:, None] + np.arange(_ROW + 8)].view(np.int64)
    return heads[:, 0], heads[:, 2]


def read_field(
    data: UInt8Array, words: Int64Array, places: Int64Array, number: int, types: Sequence[pa.DataType]
) -> pa.Array:
    """Return the field of a number of rows that begin at the bytes ``places``; ``types`` are those of all fields."""
    kind = types[number]
    valid = (words[places // 8 + number // 64] >> (number % 64)) & 1 == 0
    found = words[places // 8 + (len(types) + 63) // 64 + number]
    if is_text(kind):
        return texts_at(data, places + (found >> 32), np.where(valid, found & _SIZE, 0), kind, valid)
    if pa.types.is_boolean(kind):
        return bool_array(found & 1 != 0, valid)
    if pa.types.is_decimal(kind):
        return fixed_array(kind, np.stack([found, found >> 63], axis=1), valid)
    width = kind.bit_width // 8
    return fixed_array(kind, found.view(f"<i{width}")[:: 8 // width].copy(), valid)


def texts_at(
    data: UInt8Array, starts: Int64Array, lengths: Int64Array, kind: pa.DataType, valid: BoolArray | None
) -> pa.Array:
    """Return the strings or bytes of so many bytes that begin at ``starts``; int64, shape (values,)."""
    ends = np.zeros(lengths.size + 1, dtype=np.int32)
    np.cumsum(lengths, out=ends[1:])
    out = allocate(int(ends[-1]), np.uint8)
    gather_texts(data, starts, ends, out)
    mask = None if valid is None else pack_validity(valid)[0]
    return pa.Array.from_buffers(kind, lengths.size, [mask, pa.py_buffer(ends), pa.py_buffer(out)])


def arrays_of_bytes(column: pa.Array) -> pa.Array:
    """Return the bytes of Spark's arrays of the bytes of each value: their number, NULL bits, the padded bytes."""
    offsets, data = string_parts(column)
    counts = np.diff(offsets).astype(np.int64)
    heads = words_at(counts)
    ends = np.append(0, np.cumsum(heads + ((counts + 7) & ~7)))
    words = allocate_zeros(int(ends[-1]) // 8, np.int64)
    words[ends[:-1] // 8] = counts
    scatter_texts(offsets, data, ends[:-1] + heads, words.view(np.uint8))
    parts = [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(words)]
    return pa.Array.from_buffers(pa.binary(), len(column), parts)


def bytes_of_arrays(arrays: pa.Array) -> pa.Array:
    """Return the values of which :func:`arrays_of_bytes` made ``arrays``."""
    offsets, data = string_parts(arrays)
    starts = offsets[:-1].astype(np.int64)
    counts = data[starts[:, None] + np.arange(8)].view(np.int64)[:, 0]
    return texts_at(data, starts + words_at(counts), counts, pa.binary(), None)


@kernel
def gather_texts(data: UInt8Array, starts: Int64Array, ends: Int32Array, out: UInt8Array) -> None:
    """Copy the bytes from ``starts`` (int64) on to the ranges between ``ends`` (int32)."""
    for row in range(starts.size):
        shift = starts[row] - ends[row]
        for at in range(ends[row], ends[row + 1]):
            out[at] = data[at + shift]


@kernel
def scatter_texts(offsets: Int32Array, data: UInt8Array, places: Int64Array, out: UInt8Array) -> None:
    """Copy strings to ``places`` (int64)."""
    for row in range(places.size):
        shift = places[row] - offsets[row]
        for at in range(offsets[row], offsets[row + 1]):
            out[at + shift] = data[at]
