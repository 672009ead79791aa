"""Sort keys as fields of unsigned bits, which order rows field by field in Spark's order.

NaN is the largest number and equal to itself, −0.0 equals 0.0, strings compare by unsigned bytes. A value is
encoded as its offset in the column's own range, so that most keys need few bits; NULL is one more code, before or
after the range. Fields of different chunks are not comparable: all rows of one sort are encoded together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import Array, BoolArray, Int64Array, UInt64Array
from pyspark_pipeline.kernels.buffers import bits, decimal_words, validity, values
from pyspark_pipeline.kernels.sort_text import TextWords

_SIGN = np.uint64(1 << 63)


@dataclass(frozen=True, slots=True)
class SortColumn:
    """The values of one sort key (strings may be dictionary-encoded) and their direction."""

    values: pa.Array
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class SortField:
    """``width`` bits (1 to 64) of every row; ``words`` returns them as uint64 for int64 row numbers (None: all)."""

    width: int
    words: Callable[[Int64Array | None], UInt64Array]


def sort_fields(column: SortColumn) -> Iterable[SortField]:
    """Return the fields of a plain key, most significant first, built lazily; none if all values are equal."""
    array = column.values
    valid = valid_flags(array)
    if valid is not None and not valid.any():
        return ()
    if pa.types.is_string(array.type) or pa.types.is_binary(array.type):
        return _text_fields(array, valid, column)
    if pa.types.is_decimal(array.type):
        return _decimal_fields(array, valid, column)
    return number_fields(ordinals(array), valid, column)


def valid_flags(array: pa.Array) -> BoolArray | None:
    """Return true for the rows that are not NULL: bool, shape (rows,); None if no row is NULL."""
    if array.null_count == 0:
        return None
    if array.null_count == len(array):
        return np.zeros(len(array), dtype=np.bool_)
    bitmap, skip = validity(array)
    return np.unpackbits(bitmap, bitorder="little")[skip : skip + len(array)].astype(np.bool_)


def ordinals(array: pa.Array) -> Array:
    """Return a number column as integers of the same order: a signed numpy integer type, shape (rows,)."""
    if pa.types.is_boolean(array.type):
        data, skip = bits(array)
        return np.unpackbits(data, bitorder="little")[skip : skip + len(array)].astype(np.int8)
    if pa.types.is_floating(array.type):
        numbers = values(array) + 0.0  # −0.0 becomes 0.0
        numbers[np.isnan(numbers)] = np.nan  # one NaN, without a sign
        kind = np.dtype(f"i{numbers.itemsize}")
        raw = numbers.view(kind)
        return np.where(raw < 0, raw ^ np.iinfo(kind).max, raw)
    return values(array)


def number_fields(numbers: Array, valid: BoolArray | None, column: SortColumn) -> list[SortField]:
    """Build the field of signed integers: the distance from the minimum (or maximum); NULL is one more code."""
    if valid is not None:
        numbers = np.where(valid, numbers, numbers[np.argmax(valid)])
    low, high = int(numbers.min()), int(numbers.max())
    span = high - low
    words = numbers.astype(np.int64, copy=False).view(np.uint64)
    words = np.uint64(high & ((1 << 64) - 1)) - words if column.descending else words - np.uint64(low & ((1 << 64) - 1))
    if valid is None:
        return _fixed(words, span)
    if span == (1 << 64) - 1:
        return [_null_flag(valid, column.nulls_first), *_fixed(np.where(valid, words, 0), span)]
    words = np.where(valid, words + np.uint64(1), 0) if column.nulls_first else np.where(valid, words, span + 1)
    return _fixed(words.astype(np.uint64, copy=False), span + 1)


def _fixed(words: UInt64Array, largest: int) -> list[SortField]:
    return [stored_field(largest.bit_length(), words)] if largest else []


def stored_field(width: int, words: UInt64Array) -> SortField:
    """Build the field whose bits are in ``words`` (uint64, shape (rows,))."""

    def select(rows: Int64Array | None) -> UInt64Array:
        found: UInt64Array = words if rows is None else words[rows]
        return found

    return SortField(width, select)


def _null_flag(valid: BoolArray, nulls_first: bool) -> SortField:
    flags = (valid if nulls_first else ~valid).astype(np.uint64)
    return stored_field(1, flags)


def _decimal_fields(array: pa.Array, valid: BoolArray | None, column: SortColumn) -> list[SortField]:
    """Build one field of the low words if the high words only repeat the sign, else two."""
    words = decimal_words(array)
    low, high = words[::2], words[1::2]
    small = array.type.precision <= 18
    if not small:
        same = (low >> 63) == high
        small = bool((same if valid is None else same | ~valid).all())
    if small:
        return number_fields(low, valid, column)
    unsigned = (low.view(np.uint64) ^ _SIGN).view(np.int64)
    if valid is not None:
        unsigned = np.where(valid, unsigned, unsigned[np.argmax(valid)])
    return [*number_fields(high, valid, column), *number_fields(unsigned, None, column)]


def _text_fields(array: pa.Array, valid: BoolArray | None, column: SortColumn) -> Iterator[SortField]:
    text = TextWords(array)
    largest = np.uint64((1 << text.bits) - 1)

    def word(number: int) -> Callable[[Int64Array | None], UInt64Array]:
        def select(rows: Int64Array | None) -> UInt64Array:
            made = text.word(number, np.arange(len(array), dtype=np.int64) if rows is None else rows)
            if column.descending:
                made = largest - made
            if valid is None:
                return made
            return np.where(valid if rows is None else valid[rows], made, np.uint64(0))

        return select

    if valid is not None:
        yield _null_flag(valid, column.nulls_first)
    for number in range(text.count):
        yield SortField(text.bits, word(number))
