"""The keys of a join's rows as 64-bit values: strings by number, columns with small ranges as one number.

:class:`JoinKeys` is made of the build side's columns and fixes how a key looks; afterwards it only reads. Where
the ranges of the columns together fit 63 bits a key is one number (a single column as it is, several as
digits), else several words. A probe row whose value no build row has in that column gets a number that no
build row has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.kernels.buffers import NO_BITS, Array, allocate, allocate_zeros, bits, validity
from pyspark_pipeline.kernels.group_kernels import value_range
from pyspark_pipeline.kernels.join_index import add_digit
from pyspark_pipeline.kernels.join_strings import StringFinder, StringKeys
from pyspark_pipeline.kernels.key_columns import KeyColumn, StringKey, key_column

Bits = tuple[Array, int]
_MOST_NUMBERS = 1 << 63
_LARGEST = np.int64(2**63 - 1)
_SMALLEST = np.int64(-(2**63))
_WORD = 2**64 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Digit:
    """One column of values in a key's number: (value − low) · stride, for values in low … low + span."""

    low: np.uint64
    span: np.uint64
    stride: np.uint64


class JoinKeys:
    """How keys of the given plain Arrow types look. ``columns``: for every key column its chunks, in build order.

    ``keys``: the build rows' values, ``width`` int64 a row; ``bits``: which of them have no NULL. ``low`` and
    ``numbers`` say where one number a key lies: in low … low + numbers − 1. ``ranges``: for every key column the
    least and the largest of its values in keys without NULL, None where a value is several words, or there is none.
    """

    def __init__(self, types: Sequence[pa.DataType], columns: Sequence[Sequence[pa.Array]], rows: int) -> None:
        self.columns = [key_column(t) for t in types]
        self.strings = [StringKeys() if isinstance(column, StringKey) else None for column in self.columns]
        self._digits: list[Digit] = []
        self.ranges: list[tuple[int, int] | None] = []
        self.low = self.numbers = 0
        built = [self._built(i, [_plain(chunk) for chunk in chunks]) for i, chunks in enumerate(columns)]
        parts = [part for made, _ in built for part in made]
        valid = _both([flags for _, flags in built])
        self.bits = (NO_BITS, 0) if valid is None else bits(valid)
        self.valid_rows = rows if valid is None else valid.true_count
        ranges = [self._range(part) for part in parts]
        self.width = self._lay_out(ranges)
        self.ranges = self._by_column(ranges)
        self.keys = self._packed(parts, rows)

    @property
    def nbytes(self) -> int:
        """Bytes held, save the build rows' values."""
        return sum(strings.nbytes for strings in self.strings if strings is not None)

    def _built(self, place: int, chunks: list[pa.Array]) -> tuple[tuple[Array, ...], pa.BooleanArray | None]:
        """Give a key column's values and which of them are not NULL (None: all)."""
        column, strings = self.columns[place], self.strings[place]
        if strings is None:
            array = pa.concat_arrays(chunks) if chunks else pa.array([], column.type)
            return column.encode(array), array.is_valid() if array.null_count else None
        ids = [strings.intern(chunk) for chunk in chunks]
        numbers = np.concatenate(ids) if ids else np.empty(0, dtype=np.int64)
        if any(chunk.null_count for chunk in chunks):
            return (numbers,), pa.concat_arrays([chunk.is_valid() for chunk in chunks])
        return (numbers,), None

    def _by_column(self, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int] | None]:
        """Give the ranges of columns instead of parts."""
        left = iter(ranges)
        given = [[next(left) for _ in range(column.words)] for column in self.columns]
        return [parts[0] if len(parts) == 1 and self.valid_rows else None for parts in given]

    def _lay_out(self, ranges: Sequence[tuple[int, int]]) -> int:
        """Choose the digits; give the number of words a key has."""
        numbers = 1
        for low, high in ranges:
            digit = Digit(low=np.uint64(low & _WORD), span=np.uint64(high - low), stride=np.uint64(numbers & _WORD))
            self._digits.append(digit)
            numbers *= high - low + 1
            if numbers > _MOST_NUMBERS and len(ranges) > 1:
                self._digits = []
                return len(ranges)
        self.numbers = numbers
        if len(ranges) == 1:
            self._digits = []
            self.low = ranges[0][0]
        return 1

    def values_of(self, place: int, numbers: Array) -> Array:
        """Give the distinct values of key column ``place``, ascending, of keys that are one number each."""
        if not self._digits:
            return np.unique(numbers)
        digit = self._digits[place]
        within = numbers.view(np.uint64) // digit.stride % (digit.span + np.uint64(1))
        found: Array = np.unique((within + digit.low).view(np.int64))
        return found

    def _range(self, part: Array) -> tuple[int, int]:
        low, high = value_range(part, *self.bits, _LARGEST, _SMALLEST)
        return (int(low), int(high)) if low <= high else (0, 0)

    def _packed(self, parts: Sequence[Array], rows: int) -> Array:
        if len(parts) == 1:
            return parts[0]
        if self.width == 1:
            codes = allocate_zeros(rows, np.int64)
            for part, digit in zip(parts, self._digits, strict=True):
                add_digit(part, digit.low, digit.span, digit.stride, codes)
            return codes
        words = allocate(rows * self.width, np.int64)
        for place, part in enumerate(parts):
            words[place :: self.width] = part
        return words


class KeyReader:
    """Makes the keys of one thread's probe chunks look as those of the build side."""

    def __init__(self, keys: JoinKeys) -> None:
        self._keys = keys
        self._finders = [None if strings is None else StringFinder(strings) for strings in keys.strings]

    def read(self, columns: Sequence[pa.Array], rows: int) -> tuple[Array, Bits]:
        """Give the values of a chunk's keys, ``width`` int64 a row, and which rows have no NULL."""
        plain = [_plain(column) for column in columns]
        parts: list[Array] = []
        for column, finder, array in zip(self._keys.columns, self._finders, plain, strict=True):
            parts += _encoded(column, finder, array)
        return self._keys._packed(parts, rows), _valid_bits(plain)


def _encoded(column: KeyColumn, finder: StringFinder | None, array: pa.Array) -> tuple[Array, ...]:
    return column.encode(array) if finder is None else (finder.find(array),)


def _plain(array: pa.Array) -> pa.Array:
    """Decode a dictionary that holds a NULL: only a NULL code may stand for NULL."""
    if pa.types.is_dictionary(array.type) and array.dictionary.null_count:
        return array.dictionary_decode()
    return array


def _both(flags: Sequence[pa.BooleanArray | None]) -> pa.BooleanArray | None:
    """Give where all flags are true; None stands for "everywhere"."""
    given = [flag for flag in flags if flag is not None]
    if not given:
        return None
    made = given[0]
    for flag in given[1:]:
        made = pc.and_(made, flag)
    return made


def _valid_bits(arrays: Sequence[pa.Array]) -> Bits:
    """View which rows are NULL in no column."""
    nullable = [array for array in arrays if array.null_count]
    if not nullable:
        return NO_BITS, 0
    only = nullable[0]
    if len(nullable) == 1 and not pa.types.is_null(only.type):
        return validity(only.indices if pa.types.is_dictionary(only.type) else only)
    valid = _both([array.is_valid() for array in nullable])
    assert valid is not None
    return bits(valid)
