"""Normalized keys: bytes of arrays and structs that compare as Spark compares the values, and are equal if they are.

A key is the concatenation of its parts, each after a byte: 0 at the end of an array, 1 for NULL, 2 for a value. Numbers
are big-endian with the sign bit inverted, −0.0 as 0.0 and every NaN as the greatest; a zero byte of a string has 255
after it, its end is two zero bytes. So NULL is the least value, a prefix of an array is less than the array, and the
fields of a struct compare in order (Spark: ``InterpretedOrdering``, ``PhysicalArrayType.interpretedOrdering``).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import Array, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.buffers import allocate, decimal_words, pack_validity, string_parts, validity, values
from pyspark_pipeline.kernels.element_places import element_rows, range_places
from pyspark_pipeline.kernels.jit import frozen, kernel
from pyspark_pipeline.kernels.murmur3 import is_valid
from pyspark_pipeline.kernels.take import take
from pyspark_pipeline.kernels.words import store_word, swap_bytes

_END, _NULL, _VALUE = 0, 1, 2
_MOST_BYTES = 2**31 - 1
_DECIMAL_BYTES = 16
#: Bytes after the keys that may be written.
_SLACK = 8


def normalized_keys(array: pa.Array) -> pa.Array:
    """Return the normalized keys of an array of any type but maps, as binary; NULL for NULL.

    Raise ``ArrowCapacityError`` if they have 2³¹ bytes or more.
    """
    rows = len(array)
    part = _part(array)
    offsets = np.zeros(rows + 1, dtype=np.int64)
    np.cumsum(part.sizes, out=offsets[1:])
    if offsets[-1] > _MOST_BYTES:
        raise pa.ArrowCapacityError(f"the normalized keys of {rows} rows have {offsets[-1]} bytes")
    out = allocate(int(offsets[-1]) + _SLACK, np.uint8)
    part.write_all(out, offsets[:-1])
    mask, nulls = pack_validity(np.asarray(array.is_valid()))
    buffers = [mask, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(out)]
    return pa.Array.from_buffers(pa.binary(), rows, buffers, nulls)


class _Part:
    """The part of one value of each row; ``sizes``, shape (rows,), are its bytes."""

    sizes: Int64Array

    def write(self, out: UInt8Array, at: Int64Array) -> None:
        """Write the parts to ``out``, that of each row from the byte ``at`` on, shape (rows,)."""
        raise NotImplementedError

    def write_all(self, out: UInt8Array, at: Int64Array) -> None:
        """Write the parts, which are whole keys, one after the other, with :data:`_SLACK` bytes after the last."""
        self.write(out, at)


def _part(array: pa.Array) -> _Part:
    typ = array.type
    if pa.types.is_struct(typ):
        return _StructPart(array)
    if pa.types.is_list(typ):
        return _WordListPart(array) if _is_word(typ.value_type) else _ListPart(array)
    if pa.types.is_string(typ) or pa.types.is_binary(typ):
        return _TextPart(array)
    if pa.types.is_null(typ):
        return _WordPart(pa.nulls(len(array), pa.bool_()))
    return _WordPart(array) if _is_word(typ) else _DecimalPart(array)


def _is_word(typ: pa.DataType) -> bool:
    """Return whether values have at most eight bytes."""
    return not pa.types.is_nested(typ) and pa.types.is_primitive(typ) and bool(typ.bit_width <= 64)


class _WordPart(_Part):
    """Numbers of at most eight bytes."""

    def __init__(self, array: pa.Array) -> None:
        self._words = _Words(array)
        self.sizes = np.full(len(array), 1 + self._words.width, dtype=np.int64)
        if array.null_count:
            self.sizes[np.asarray(array.is_null())] = 1

    def write(self, out: UInt8Array, at: Int64Array) -> None:
        _put_words(*self._words.arguments, at, out)


class _WordListPart(_Part):
    """Arrays of numbers of at most eight bytes."""

    def __init__(self, array: pa.Array) -> None:
        self._words = _Words(array.values)
        self._lists = frozen(array.offsets.to_numpy()), *validity(array)
        self.sizes = allocate(len(array), np.int64)
        _size_lists(*self._lists, *self._words.validity, self._words.width, self.sizes)

    def write(self, out: UInt8Array, at: Int64Array) -> None:
        _put_lists(*self._lists, *self._words.arguments, at, False, out)

    def write_all(self, out: UInt8Array, at: Int64Array) -> None:
        _put_lists(*self._lists, *self._words.arguments, at, True, out)


class _Words:
    """Numbers of ``width`` bytes as int64 whose lowest bytes, with one bit flipped, compare as the numbers do."""

    def __init__(self, array: pa.Array) -> None:
        numbers = values(array.cast(pa.uint8())) if pa.types.is_boolean(array.type) else _signed(array)
        self.width = numbers.dtype.itemsize
        self.validity = validity(array)
        flip = 0 if pa.types.is_boolean(array.type) else 1 << (8 * self.width - 1)
        words = frozen(numbers.astype(np.int64, copy=False))
        self.arguments = words, np.uint64(flip), self.width, *self.validity


class _DecimalPart(_Part):
    def __init__(self, array: pa.Array) -> None:
        words = decimal_words(array).view(np.uint64).reshape(len(array), 2)[:, ::-1].copy()
        words[:, 0] ^= np.uint64(1 << 63)
        self._bytes: UInt8Array = frozen(words.astype(">u8").view(np.uint8).reshape(len(array), _DECIMAL_BYTES))
        self._validity = validity(array)
        self.sizes = np.full(len(array), 1 + _DECIMAL_BYTES, dtype=np.int64)
        if array.null_count:
            self.sizes[np.asarray(array.is_null())] = 1

    def write(self, out: UInt8Array, at: Int64Array) -> None:
        _put_fixed(self._bytes, *self._validity, at, out)


def _signed(array: pa.Array) -> Array:
    """Return numbers as integers of as many bytes that compare as the numbers do."""
    data = values(array)
    if pa.types.is_floating(array.type):
        data = np.where(np.isnan(data), np.nan, data).astype(data.dtype, copy=False)
        data = data + data.dtype.type(0)
        signed = data.view(f"<i{data.dtype.itemsize}")
        # A negative number is greater, the greater its magnitude is.
        data = np.where(signed < 0, ~signed ^ np.iinfo(signed.dtype).min, signed)
    return data


class _TextPart(_Part):
    def __init__(self, array: pa.Array) -> None:
        self._text = (*string_parts(array), *validity(array))
        self.sizes = allocate(len(array), np.int64)
        _size_texts(*self._text, self.sizes)

    def write(self, out: UInt8Array, at: Int64Array) -> None:
        _put_texts(*self._text, at, out)


class _StructPart(_Part):
    def __init__(self, array: pa.Array) -> None:
        self._rows = _valid_rows(array)
        fields = [array.field(place) for place in range(array.type.num_fields)]
        if self._rows is not None:
            fields = [take(field, self._rows) for field in fields]
        self._fields = [_part(field) for field in fields]
        self.sizes = np.ones(len(array), dtype=np.int64)
        self.sizes[_all_or(self._rows)] += sum((field.sizes for field in self._fields), np.int64(0))

    def write(self, out: UInt8Array, at: Int64Array) -> None:
        inner = _mark(out, at, self._rows)
        for field in self._fields:
            field.write(out, inner)
            inner = np.add(inner, field.sizes, out=allocate(inner.size, np.int64))


class _ListPart(_Part):
    def __init__(self, array: pa.Array) -> None:
        self._rows = _valid_rows(array)
        offsets = array.offsets.to_numpy().astype(np.int64)
        chosen = _all_or(self._rows)
        starts, counts = offsets[:-1][chosen], np.diff(offsets)[chosen]
        before = np.cumsum(counts) - counts
        self._owners = element_rows(counts)
        if self._rows is None:
            elements = array.values[int(offsets[0]) : int(offsets[-1])]
        else:
            elements = take(array.values, range_places(starts, counts))
        self._elements = _part(elements)
        ends = np.zeros(self._owners.size + 1, dtype=np.int64)
        np.cumsum(self._elements.sizes, out=ends[1:])
        self._within = ends[:-1] - ends[before][self._owners]
        self._bytes = ends[before + counts] - ends[before]
        self.sizes = np.ones(len(array), dtype=np.int64)
        self.sizes[chosen] += self._bytes + 1

    def write(self, out: UInt8Array, at: Int64Array) -> None:
        inner = _mark(out, at, self._rows)
        self._elements.write(out, inner[self._owners] + self._within)
        out[inner + self._bytes] = _END


def _valid_rows(array: pa.Array) -> Int64Array | None:
    """Return the numbers of the rows that are not NULL; None for all."""
    return np.flatnonzero(np.asarray(array.is_valid())) if array.null_count else None


def _all_or(rows: Int64Array | None) -> Int64Array | slice:
    return slice(None) if rows is None else rows


def _mark(out: UInt8Array, at: Int64Array, rows: Int64Array | None) -> Int64Array:
    """Write the bytes for NULL or a value; return the next bytes of the rows that have a value, ``rows`` or all."""
    if rows is None:
        after = allocate(at.size, np.int64)
        _mark_values(at, out, after)
        return after
    out[at] = _NULL
    out[at[rows]] = _VALUE
    return at[rows] + 1


@kernel
def _mark_values(at: Int64Array, out: UInt8Array, after: Int64Array) -> None:
    for row in range(at.size):
        out[at[row]] = _VALUE
        after[row] = at[row] + 1


@kernel
def _put_word(word: int, flip: int, width: int, place: int, out: UInt8Array) -> None:
    """Write the mark of a value and the lowest bytes of a word, the highest of them first."""
    out[place] = _VALUE
    flipped = np.uint64(word) ^ flip
    if width == 8:
        store_word(np.uint64(out.ctypes.data) + np.uint64(place + 1), swap_bytes(flipped))
    else:
        for i in range(width):
            out[place + 1 + i] = flipped >> np.uint64(8 * (width - 1 - i))


@kernel
def _put_words(
    words: Int64Array, flip: int, width: int, bitmap: UInt8Array, skip: int, at: Int64Array, out: UInt8Array
) -> None:
    for row in range(at.size):
        if is_valid(bitmap, skip, row):
            _put_word(words[row], flip, width, at[row], out)
        else:
            out[at[row]] = _NULL


@kernel
def _size_lists(
    offsets: Int32Array, bitmap: UInt8Array, skip: int, bits: UInt8Array, bits_skip: int, width: int, sizes: Int64Array
) -> None:
    for row in range(sizes.size):
        size = 1
        if is_valid(bitmap, skip, row):
            start, stop = offsets[row], offsets[row + 1]
            size = 2 + (1 + width) * (np.int64(stop) - start)
            if bits.shape[0]:
                for place in range(start, stop):
                    size -= width * (not is_valid(bits, bits_skip, place))
        sizes[row] = size


@kernel
def _put_lists(
    offsets: Int32Array,
    bitmap: UInt8Array,
    skip: int,
    words: Int64Array,
    flip: int,
    width: int,
    bits: UInt8Array,
    bits_skip: int,
    at: Int64Array,
    are_whole: bool,
    out: UInt8Array,
) -> None:
    """Write lists. If they are whole keys, a word is written after each mark, whose rest the next bytes overwrite."""
    start = np.uint64(out.ctypes.data)
    unused = np.uint64(8 * (_SLACK - width))
    for row in range(at.size):
        place = at[row]
        if not is_valid(bitmap, skip, row):
            out[place] = _NULL
            continue
        out[place] = _VALUE
        place += 1
        for element in range(offsets[row], offsets[row + 1]):
            valid = np.int64(is_valid(bits, bits_skip, element))
            if are_whole:
                out[place] = _NULL + valid
                word = (np.uint64(words[element]) ^ flip) << unused
                store_word(start + np.uint64(place + 1), swap_bytes(word))
            elif valid:
                _put_word(words[element], flip, width, place, out)
            else:
                out[place] = _NULL
            place += 1 + width * valid
        out[place] = _END


@kernel
def _put_fixed(data: Array, bitmap: UInt8Array, skip: int, at: Int64Array, out: UInt8Array) -> None:
    for row in range(at.size):
        place = at[row]
        if is_valid(bitmap, skip, row):
            out[place] = _VALUE
            for i in range(data.shape[1]):
                out[place + 1 + i] = data[row, i]
        else:
            out[place] = _NULL


@kernel
def _size_texts(offsets: Int32Array, data: UInt8Array, bitmap: UInt8Array, skip: int, sizes: Int64Array) -> None:
    for row in range(sizes.size):
        size = 1
        if is_valid(bitmap, skip, row):
            size = 3 + offsets[row + 1] - offsets[row]
            for i in range(offsets[row], offsets[row + 1]):
                if data[i] == 0:
                    size += 1
        sizes[row] = size


@kernel
def _put_texts(
    offsets: Int32Array, data: UInt8Array, bitmap: UInt8Array, skip: int, at: Int64Array, out: UInt8Array
) -> None:
    for row in range(at.size):
        place = at[row]
        if not is_valid(bitmap, skip, row):
            out[place] = _NULL
            continue
        out[place] = _VALUE
        place += 1
        for i in range(offsets[row], offsets[row + 1]):
            out[place] = data[i]
            place += 1
            if data[i] == 0:
                out[place] = 255
                place += 1
        out[place] = 0
        out[place + 1] = 0
