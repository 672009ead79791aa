"""Key columns as int64 values: the encoding of each Arrow type in a group table, and its decoding.

A column has one value per row, or two (low and high word) for decimals over 18 digits. Equal keys have equal
values: −0.0 is 0.0, all NaNs are equal, a string is its number in an interner. Values of NULL rows are
undefined. ``bits`` is the width that distinguishes all values; 64 is "any".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array
from pyspark_pipeline.kernels.buffers import allocate, bits, bool_array, copied, decimal_words, fixed_array, values
from pyspark_pipeline.kernels.group_kernels import unpack_bits
from pyspark_pipeline.kernels.interning import StringInterner


class KeyColumn(ABC):
    """One grouping column."""

    bits = 64
    bias = 0
    words = 1

    def __init__(self, arrow_type: pa.DataType) -> None:
        self.type = arrow_type

    @abstractmethod
    def encode(self, column: pa.Array) -> tuple[Int64Array, ...]:
        """Return the values of a chunk's column: ``words`` contiguous int64 arrays, shape (rows,)."""

    @abstractmethod
    def decode(self, parts: tuple[Int64Array, ...], valid: BoolArray) -> pa.Array:
        """Build an Arrow column from stored values; ``valid``: bool, shape (rows,)."""

    @property
    def nbytes(self) -> int:
        """Bytes held besides the table's own."""
        return 0


class IntegerKey(KeyColumn):
    """Integers, dates and timestamps."""

    def __init__(self, arrow_type: pa.DataType) -> None:
        super().__init__(arrow_type)
        width = arrow_type.bit_width
        self._dtype = np.dtype(f"<i{width // 8}")
        if width < 64:
            self.bits = width + 1
            self.bias = -(1 << (width - 1))

    def encode(self, column: pa.Array) -> tuple[Int64Array, ...]:
        return (values(column).astype(np.int64, copy=False),)

    def decode(self, parts: tuple[Int64Array, ...], valid: BoolArray) -> pa.Array:
        return fixed_array(self.type, copied(parts[0], self._dtype), valid)


class BooleanKey(KeyColumn):
    """Booleans as 0 and 1."""

    bits = 2

    def encode(self, column: pa.Array) -> tuple[Int64Array, ...]:
        out = allocate(len(column), np.int64)
        unpack_bits(*bits(column), out)
        return (out,)

    def decode(self, parts: tuple[Int64Array, ...], valid: BoolArray) -> pa.Array:
        return bool_array(parts[0] != 0, valid)


class FloatKey(KeyColumn):
    """Floating-point numbers by their normalised bits."""

    def __init__(self, arrow_type: pa.DataType) -> None:
        super().__init__(arrow_type)
        self._bits_type = np.int32 if arrow_type.bit_width == 32 else np.int64
        if arrow_type.bit_width == 32:
            self.bits = 33
            self.bias = -(1 << 31)

    def encode(self, column: pa.Array) -> tuple[Int64Array, ...]:
        data = values(column) + 0.0
        data[np.isnan(data)] = np.nan
        return (data.view(self._bits_type).astype(np.int64, copy=False),)

    def decode(self, parts: tuple[Int64Array, ...], valid: BoolArray) -> pa.Array:
        return fixed_array(self.type, copied(parts[0], self._bits_type), valid)


class SmallDecimalKey(KeyColumn):
    """Decimals of at most 18 digits by their low word."""

    def encode(self, column: pa.Array) -> tuple[Int64Array, ...]:
        return (np.ascontiguousarray(decimal_words(column)[::2]),)

    def decode(self, parts: tuple[Int64Array, ...], valid: BoolArray) -> pa.Array:
        return _decimal(self.type, parts[0], parts[0] >> 63, valid)


class BigDecimalKey(KeyColumn):
    """Decimals of more digits by both words."""

    words = 2

    def encode(self, column: pa.Array) -> tuple[Int64Array, ...]:
        data = decimal_words(column)
        return np.ascontiguousarray(data[::2]), np.ascontiguousarray(data[1::2])

    def decode(self, parts: tuple[Int64Array, ...], valid: BoolArray) -> pa.Array:
        return _decimal(self.type, parts[0], parts[1], valid)


class StringKey(KeyColumn):
    """Strings and byte strings by their number in an interner."""

    bits = 32

    def __init__(self, arrow_type: pa.DataType) -> None:
        super().__init__(arrow_type)
        self._interner = StringInterner()

    def encode(self, column: pa.Array) -> tuple[Int64Array, ...]:
        return (self._interner.intern(column),)

    def decode(self, parts: tuple[Int64Array, ...], valid: BoolArray) -> pa.Array:
        return self._interner.strings(parts[0], valid, self.type)

    @property
    def nbytes(self) -> int:
        return self._interner.nbytes


class NullKey(KeyColumn):
    """The void type: every row is NULL."""

    bits = 1

    def encode(self, column: pa.Array) -> tuple[Int64Array, ...]:
        return (np.zeros(len(column), dtype=np.int64),)

    def decode(self, parts: tuple[Int64Array, ...], valid: BoolArray) -> pa.Array:
        return pa.nulls(valid.size, self.type)


def _decimal(arrow_type: pa.DataType, low: Int64Array, high: Int64Array, valid: BoolArray) -> pa.Array:
    words = np.empty(2 * low.size, dtype=np.int64)
    words[::2] = low
    words[1::2] = high
    return fixed_array(arrow_type, words, valid)


_TESTS: tuple[tuple[Callable[[pa.DataType], bool], type[KeyColumn]], ...] = (
    (pa.types.is_integer, IntegerKey),
    (pa.types.is_date32, IntegerKey),
    (pa.types.is_timestamp, IntegerKey),
    (pa.types.is_boolean, BooleanKey),
    (pa.types.is_floating, FloatKey),
    (lambda t: pa.types.is_decimal(t) and t.precision <= 18, SmallDecimalKey),
    (pa.types.is_decimal, BigDecimalKey),
    (pa.types.is_string, StringKey),
    (pa.types.is_binary, StringKey),
    (pa.types.is_null, NullKey),
)


def key_column(arrow_type: pa.DataType) -> KeyColumn:
    """Build the key column of a plain Arrow type; raise TypeError for a type that cannot be a key."""
    for test, made in _TESTS:
        if test(arrow_type):
            return made(arrow_type)
    raise TypeError(f"{arrow_type} cannot be a grouping key")
