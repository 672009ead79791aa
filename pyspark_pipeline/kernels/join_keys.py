"""The keys of a join's rows as 64-bit values: strings by number, columns with small ranges as one number.

:class:`JoinKeys` determines the key layout from the build side's columns and is immutable afterwards. If
the ranges of the columns together fit 63 bits, a key is one number (a single column unchanged, several as
digits), else several words. A probe row with a value that no build row has in that column gets a number that no
build row has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.kernels.arrays import Bitmap, Int64Array
from pyspark_pipeline.kernels.buffers import NO_BITS, allocate, allocate_zeros, bits, validity
from pyspark_pipeline.kernels.group_kernels import value_range
from pyspark_pipeline.kernels.join_index import add_digit
from pyspark_pipeline.kernels.join_strings import StringFinder, StringKeys
from pyspark_pipeline.kernels.key_columns import KeyColumn, StringKey, key_column

_MAX_RANGE = 1 << 63
_LARGEST = np.int64(2**63 - 1)
_SMALLEST = np.int64(-(2**63))
_WORD = 2**64 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Digit:
    """The contribution of one column to a key's number: (value − low) · stride, for values in low … low + span."""

    low: np.uint64
    span: np.uint64
    stride: np.uint64


class JoinKeys:
    """The key layout for plain Arrow types. ``columns``: for every key column its chunks, in build order.

    ``keys``: the build rows' values, ``width`` int64 per row; ``bits``: bitmap of the keys without NULL. A key of one
    number lies in ``low`` … ``low`` + ``range_size`` − 1. ``ranges``: for every key column the minimum and maximum
    of its values in keys without NULL; None if a value is several words, or if there is none.
    """

    def __init__(self, types: Sequence[pa.DataType], columns: Sequence[Sequence[pa.Array]], rows: int) -> None:
        self.columns = [key_column(t) for t in types]
        self.strings = [StringKeys() if isinstance(column, StringKey) else None for column in self.columns]
        self._digits: list[Digit] = []
        self.ranges: list[tuple[int, int] | None] = []
        self.low = self.range_size = 0
        built = [self._built(i, [_plain(chunk) for chunk in chunks]) for i, chunks in enumerate(columns)]
        parts = [part for made, _ in built for part in made]
        valid = _conjunction([flags for _, flags in built])
        self.bits = (NO_BITS, 0) if valid is None else bits(valid)
        self.valid_rows = rows if valid is None else valid.true_count
        ranges = [self._range(part) for part in parts]
        self.width = self._lay_out(ranges)
        self.ranges = self._by_column(ranges)
        self.keys = self._packed(parts, rows)

    @property
    def nbytes(self) -> int:
        """Bytes held, without the build rows' values."""
        return sum(strings.nbytes for strings in self.strings if strings is not None)

    def _built(self, index: int, chunks: list[pa.Array]) -> tuple[tuple[Int64Array, ...], pa.BooleanArray | None]:
        """Return a key column's values and true for those that are not NULL (None: all)."""
        column, strings = self.columns[index], self.strings[index]
        if strings is None:
            array = pa.concat_arrays(chunks) if chunks else pa.array([], column.type)
            return column.encode(array), array.is_valid() if array.null_count else None
        ids = [strings.intern(chunk) for chunk in chunks]
        numbers = np.concatenate(ids) if ids else np.empty(0, dtype=np.int64)
        if any(chunk.null_count for chunk in chunks):
            return (numbers,), pa.concat_arrays([chunk.is_valid() for chunk in chunks])
        return (numbers,), None

    def _by_column(self, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int] | None]:
        """Return the ranges by column instead of by part."""
        remaining = iter(ranges)
        by_column = [[next(remaining) for _ in range(column.words)] for column in self.columns]
        return [parts[0] if len(parts) == 1 and self.valid_rows else None for parts in by_column]

    def _lay_out(self, ranges: Sequence[tuple[int, int]]) -> int:
        """Choose the digits; return the number of words of a key."""
        size = 1
        for low, high in ranges:
            digit = Digit(low=np.uint64(low & _WORD), span=np.uint64(high - low), stride=np.uint64(size & _WORD))
            self._digits.append(digit)
            size *= high - low + 1
            if size > _MAX_RANGE and len(ranges) > 1:
                self._digits = []
                return len(ranges)
        self.range_size = size
        if len(ranges) == 1:
            self._digits = []
            self.low = ranges[0][0]
        return 1

    def values_of(self, index: int, numbers: Int64Array) -> Int64Array:
        """Return the distinct values of key column ``index``, ascending, of keys that are one number each."""
        if not self._digits:
            return np.unique(numbers)
        digit = self._digits[index]
        within = numbers.view(np.uint64) // digit.stride % (digit.span + np.uint64(1))
        found: Int64Array = np.unique((within + digit.low).view(np.int64))
        return found

    def _range(self, part: Int64Array) -> tuple[int, int]:
        low, high = value_range(part, *self.bits, _LARGEST, _SMALLEST)
        return (int(low), int(high)) if low <= high else (0, 0)

    def _packed(self, parts: Sequence[Int64Array], rows: int) -> Int64Array:
        if len(parts) == 1:
            return parts[0]
        if self.width == 1:
            codes = allocate_zeros(rows, np.int64)
            for part, digit in zip(parts, self._digits, strict=True):
                add_digit(part, digit.low, digit.span, digit.stride, codes)
            return codes
        words = allocate(rows * self.width, np.int64)
        for index, part in enumerate(parts):
            words[index :: self.width] = part
        return words


class KeyReader:
    """Encodes the keys of one thread's probe chunks in the layout of the build side."""

    def __init__(self, keys: JoinKeys) -> None:
        self._keys = keys
        self._finders = [None if strings is None else StringFinder(strings) for strings in keys.strings]

    def read(self, columns: Sequence[pa.Array], rows: int) -> tuple[Int64Array, Bitmap]:
        """Return the values of a chunk's keys, ``width`` int64 per row, and the bitmap of the rows without NULL."""
        plain = [_plain(column) for column in columns]
        parts: list[Int64Array] = []
        for column, finder, array in zip(self._keys.columns, self._finders, plain, strict=True):
            parts += _encoded(column, finder, array)
        return self._keys._packed(parts, rows), _valid_bits(plain)


def _encoded(column: KeyColumn, finder: StringFinder | None, array: pa.Array) -> tuple[Int64Array, ...]:
    return column.encode(array) if finder is None else (finder.find(array),)


def _plain(array: pa.Array) -> pa.Array:
    """Decode a dictionary column whose dictionary has a NULL: only a NULL code may represent NULL."""
    if pa.types.is_dictionary(array.type) and array.dictionary.null_count:
        return array.dictionary_decode()
    return array


def _conjunction(flags: Sequence[pa.BooleanArray | None]) -> pa.BooleanArray | None:
    """Return the conjunction of flags; None means all true."""
    present = [flag for flag in flags if flag is not None]
    if not present:
        return None
    result = present[0]
    for flag in present[1:]:
        result = pc.and_(result, flag)
    return result


def _valid_bits(arrays: Sequence[pa.Array]) -> Bitmap:
    """Return the bitmap of the rows that are not NULL in any column, viewed if possible."""
    nullable = [array for array in arrays if array.null_count]
    if not nullable:
        return NO_BITS, 0
    only = nullable[0]
    if len(nullable) == 1 and not pa.types.is_null(only.type):
        return validity(only.indices if pa.types.is_dictionary(only.type) else only)
    valid = _conjunction([array.is_valid() for array in nullable])
    assert valid is not None
    return bits(valid)
