"""Sort keys as fields of unsigned bits: rows compare as their fields do, one after the other, as Spark orders them.

NaN is the largest number and equal to itself, −0.0 equals 0.0, strings compare by unsigned bytes. A column
becomes its rank in its own range of values, so that most keys take few bits; NULL is one more code of the
range, before or after it. The fields of different chunks do not compare: those of one sort are made together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.buffers import Array, bits, decimal_words, validity, values
from pyspark_pipeline.kernels.sort_text import TextWords

_SIGN = np.uint64(1 << 63)


@dataclass(frozen=True, slots=True)
class SortColumn:
    """The values of one sort key (strings maybe by dictionary) and their direction."""

    values: pa.Array
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Bits:
    """``width`` bits (1 to 64) of every row: ``of`` gives them as uint64 for int64 row numbers (None: all rows)."""

    width: int
    of: Callable[[Array | None], Array]


def sort_fields(column: SortColumn) -> Iterable[Bits]:
    """Make the fields of a plain key as they are asked for, most significant first; none where all are equal."""
    array = column.values
    valid = valid_flags(array)
    if valid is not None and not valid.any():
        return ()
    if pa.types.is_string(array.type) or pa.types.is_binary(array.type):
        return _text_fields(array, valid, column)
    if pa.types.is_decimal(array.type):
        return _decimal_fields(array, valid, column)
    return number_fields(ordinals(array), valid, column)


def valid_flags(array: pa.Array) -> Array | None:
    """Give bools, shape (rows,); None where no row is NULL."""
    if array.null_count == 0:
        return None
    if array.null_count == len(array):
        return np.zeros(len(array), dtype=np.bool_)
    bitmap, skip = validity(array)
    return np.unpackbits(bitmap, bitorder="little")[skip : skip + len(array)].astype(np.bool_)


def ordinals(array: pa.Array) -> Array:
    """Give a number column as integers that order as its values do: a signed numpy integer type."""
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


def number_fields(numbers: Array, valid: Array | None, column: SortColumn) -> list[Bits]:
    """Make the field of signed integers: distance from the least (or the greatest), NULL one more code."""
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


def _fixed(words: Array, largest: int) -> list[Bits]:
    return [stored_bits(largest.bit_length(), words)] if largest else []


def stored_bits(width: int, words: Array) -> Bits:
    """Make the bits that ``words`` (uint64, shape (rows,)) hold."""

    def of(rows: Array | None) -> Array:
        found: Array = words if rows is None else words[rows]
        return found

    return Bits(width, of)


def _null_flag(valid: Array, nulls_first: bool) -> Bits:
    flags = (valid if nulls_first else ~valid).astype(np.uint64)
    return stored_bits(1, flags)


def _decimal_fields(array: pa.Array, valid: Array | None, column: SortColumn) -> list[Bits]:
    """Make one field of the low words where the high words only repeat the sign, else two."""
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


def _text_fields(array: pa.Array, valid: Array | None, column: SortColumn) -> Iterator[Bits]:
    text = TextWords(array)
    largest = np.uint64((1 << text.bits) - 1)

    def word(number: int) -> Callable[[Array | None], Array]:
        def of(rows: Array | None) -> Array:
            made = text.word(number, np.arange(len(array), dtype=np.int64) if rows is None else rows)
            if column.descending:
                made = largest - made
            if valid is None:
                return made
            return np.where(valid if rows is None else valid[rows], made, np.uint64(0))

        return of

    if valid is not None:
        yield _null_flag(valid, column.nulls_first)
    for number in range(text.count):
        yield Bits(text.bits, word(number))
