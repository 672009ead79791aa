"""Sort keys as fields of unsigned bits: rows compare as their fields do, one after the other, as Spark orders them.

NaN is the largest number and equal to itself, −0.0 equals 0.0, strings compare by unsigned bytes. A column
becomes its rank in its own range of values, so that most keys take few bits; NULL is one more code of the
range, before or after it. The fields of different chunks do not compare: those of one sort are made together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

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
    """``width`` bits (1 to 64) of every row: ``of(rows)`` gives them as uint64 for int64 row numbers."""

    width: int
    of: Callable[[Array], Array]


def sort_fields(column: SortColumn) -> Iterable[Bits]:
    """Make the fields of one key as they are asked for, most significant first; none where all rows are equal."""
    array = column.values
    if isinstance(array, pa.DictionaryArray) and array.dictionary.null_count:
        array = array.dictionary_decode()
    valid = valid_flags(array)
    if valid is not None and not valid.any():
        return ()
    if isinstance(array, pa.DictionaryArray):
        return _number_fields(_dictionary_ranks(array), valid, column)
    if pa.types.is_string(array.type) or pa.types.is_binary(array.type):
        return _text_fields(array, valid, column)
    if pa.types.is_decimal(array.type):
        return _decimal_fields(array, valid, column)
    return _number_fields(ordinals(array), valid, column)


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


def _number_fields(numbers: Array, valid: Array | None, column: SortColumn) -> list[Bits]:
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
    return [Bits(largest.bit_length(), words.__getitem__)] if largest else []


def _null_flag(valid: Array, nulls_first: bool) -> Bits:
    flags = (valid if nulls_first else ~valid).astype(np.uint64)
    return Bits(1, flags.__getitem__)


def _decimal_fields(array: pa.Array, valid: Array | None, column: SortColumn) -> list[Bits]:
    """Make one field of the low words where the high words only repeat the sign, else two."""
    words = decimal_words(array)
    low, high = words[::2], words[1::2]
    small = array.type.precision <= 18
    if not small:
        same = (low >> 63) == high
        small = bool((same if valid is None else same | ~valid).all())
    if small:
        return _number_fields(low, valid, column)
    unsigned = (low.view(np.uint64) ^ _SIGN).view(np.int64)
    if valid is not None:
        unsigned = np.where(valid, unsigned, unsigned[np.argmax(valid)])
    return [*_number_fields(high, valid, column), *_number_fields(unsigned, None, column)]


def _text_fields(array: pa.Array, valid: Array | None, column: SortColumn) -> Iterator[Bits]:
    text = TextWords(array)
    largest = np.uint64((1 << text.bits) - 1)

    def word(number: int) -> Callable[[Array], Array]:
        def of(rows: Array) -> Array:
            made = text.word(number, rows)
            if column.descending:
                made = largest - made
            return made if valid is None else np.where(valid[rows], made, np.uint64(0))

        return of

    if valid is not None:
        yield _null_flag(valid, column.nulls_first)
    for number in range(text.count):
        yield Bits(text.bits, word(number))


def _dictionary_ranks(array: pa.DictionaryArray) -> Array:
    """Give each row the rank of its value in the dictionary; equal entries have equal ranks."""
    entries = array.dictionary
    codes = values(array.indices)
    if not len(entries):
        return np.zeros(len(codes), dtype=np.int64)
    order, starts = order_rows([SortColumn(entries, False, True)], len(entries))
    ranks = np.empty(len(entries), dtype=np.int64)
    ranks[order] = np.cumsum(starts) - 1
    of_rows: Array = ranks[np.clip(codes, 0, len(entries) - 1)]
    return of_rows


def order_rows(columns: Sequence[SortColumn], rows: int) -> tuple[Array, Array]:
    """Sort rows stably: give int64 row numbers in order, and bools that say which of them differ from the one before.

    As many bits as fit beside the row's number are sorted at once as plain 64-bit integers (numpy's vectorised
    sort); only rows that are still tied look at further bits.
    """
    order = np.arange(rows, dtype=np.int64)
    starts = np.zeros(rows, dtype=np.bool_)
    starts[:1] = True
    if rows < 2:
        return order, starts
    fields = chain.from_iterable(map(sort_fields, columns))
    field, used = next(fields, None), 0
    tied, places, group = order.copy(), order.copy(), np.zeros(rows, dtype=np.uint64)
    while field is not None and tied.size:
        tag = (tied.size - 1).bit_length()
        room = 64 - tag - int(group[-1]).bit_length()
        key = group
        while room and field is not None:
            taken = min(room, field.width - used)
            key = (key << np.uint64(taken)) | _slice(field, tied, used, taken)
            room -= taken
            used += taken
            if used == field.width:
                field, used = next(fields, None), 0
        key = (key << np.uint64(tag)) | np.arange(tied.size, dtype=np.uint64)
        key.sort()
        tied = tied[(key & np.uint64((1 << tag) - 1)).view(np.int64)]
        order[places] = tied
        differs = _differs(key >> np.uint64(tag))
        starts[places] = differs[:-1]
        left = np.flatnonzero(~(differs[:-1] & differs[1:]))
        tied, places = tied[left], places[left]
        group = np.cumsum(differs[left], dtype=np.uint64) - np.uint64(1)
    return order, starts


def _differs(keys: Array) -> Array:
    """Say of each sorted key, and of the end, whether it differs from the one before: bools, shape (rows + 1,)."""
    made = np.empty(keys.size + 1, dtype=np.bool_)
    made[0] = made[-1] = True
    np.not_equal(keys[1:], keys[:-1], out=made[1:-1])
    return made


def _slice(field: Bits, rows: Array, start: int, count: int) -> Array:
    """Give ``count`` (under 64) bits of a field from bit ``start`` (0: the most significant) on."""
    words = field.of(rows)
    sliced: Array = (words >> np.uint64(field.width - start - count)) & np.uint64((1 << count) - 1)
    return sliced
