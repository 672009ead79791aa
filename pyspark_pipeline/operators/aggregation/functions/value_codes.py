"""The codes of values in the entries of :mod:`pyspark_pipeline.kernels.value_counts`: integers in the values' order.

A coder also reads and writes Spark's buffers. −0.0 and 0.0 have different codes, and all
NaNs have one, which is the largest: Spark's hash map compares boxed numbers by ``equals``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.errors import ResourceExhaustedError
from pyspark_pipeline.expressions.cast_decimal import to_double
from pyspark_pipeline.kernels.arrays import Array, Float64Array, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.buffers import allocate, bool_array, decimal_words, fixed_array, string_parts, values
from pyspark_pipeline.kernels.interning import StringInterner
from pyspark_pipeline.kernels.value_counts import (
    NARROW_ROW,
    WIDE_ROW,
    read_rows,
    read_text_rows,
    read_wide_rows,
    write_rows,
    write_text_rows,
    write_wide_rows,
)

#: The number of digits of the largest decimal that a row holds in 8 bytes.
_LONG_DIGITS = 18
_MAX_BYTES = 2**31 - 1
_IN_ORDER: Int64Array = np.empty(0, dtype=np.int64)


class ValueCoder(ABC):
    """Converts the values of one type. ``words`` is the number of words of a code."""

    words = 1
    nbytes = 0

    def __init__(self, kind: DataType) -> None:
        self.kind = kind

    @abstractmethod
    def encode(self, column: pa.Array) -> Int64Array:
        """Return the codes of all rows; int64, shape (rows · words,). Codes of NULL rows are undefined."""

    @abstractmethod
    def decode(self, codes: Int64Array) -> pa.Array:
        """Return the values of codes."""

    def doubles(self, codes: Int64Array) -> Float64Array:
        """Return the values of codes as doubles, rounded as Java does."""
        return values(self.decode(codes)).astype(np.float64)

    def ranks(self) -> Int64Array:
        """Return the rank of each code; nothing if the codes are in the order of the values."""
        return _IN_ORDER

    def clear(self) -> None:  # noqa: B027
        """Forget the values, if the coder numbers them."""

    def read(self, groups: Int64Array, buffers: pa.Array) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Read the buffers of groups; return the group, the code and the count of each value."""
        offsets, data = string_parts(buffers)
        most = (int(offsets[-1]) - int(offsets[0])) // (4 + NARROW_ROW)
        owners, fields, counts = (allocate(most, np.int64) for _ in range(3))
        size = read_rows(groups, offsets, data, owners, fields, counts)
        return owners[:size], self._codes(fields[:size]), counts[:size]

    def write(self, codes: Int64Array, counts: Int64Array, bounds: Int64Array) -> pa.Array:
        """Return the buffers of groups, whose first values and the end of the last one are ``bounds``."""
        offsets, data = _new_buffers(np.full(counts.size, 4 + NARROW_ROW), bounds)
        write_rows(self._fields(codes), counts, bounds, offsets, data)
        return _binary(offsets, data)

    def _fields(self, codes: Int64Array) -> Int64Array:
        """Return the 8 bytes of a row for each code; int64."""
        return codes

    def _codes(self, fields: Int64Array) -> Int64Array:
        return fields


def _new_buffers(sizes: Int64Array, bounds: Int64Array) -> tuple[Int32Array, UInt8Array]:
    """Return the offsets of buffers whose rows have ``sizes`` bytes, and space for their bytes."""
    ends = np.zeros(sizes.size + 1, dtype=np.int64)
    np.cumsum(sizes, out=ends[1:])
    offsets = ends[bounds - bounds[0]] + 4 * np.arange(bounds.size)
    if offsets[-1] > _MAX_BYTES:
        raise ResourceExhaustedError(f"{offsets[-1]} bytes of the counts of values do not fit one column")
    return offsets.astype(np.int32), allocate(int(offsets[-1]), np.uint8)


def _binary(offsets: Int32Array, data: UInt8Array) -> pa.Array:
    return pa.Array.from_buffers(pa.binary(), offsets.size - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


class _Booleans(ValueCoder):
    """False and true."""

    def encode(self, column: pa.Array) -> Int64Array:
        return np.asarray(column.fill_null(False)).astype(np.int64)

    def decode(self, codes: Int64Array) -> pa.Array:
        return bool_array(codes != 0)

    def _codes(self, fields: Int64Array) -> Int64Array:
        return fields & 1


class _Integers(ValueCoder):
    """Integers, and dates and timestamps, which are integers; a row has zeros above their own bytes."""

    def __init__(self, kind: DataType) -> None:
        super().__init__(kind)
        self._width = kind.arrow.bit_width
        self._own = np.dtype(f"i{self._width // 8}")

    def encode(self, column: pa.Array) -> Int64Array:
        return values(column).astype(np.int64)

    def decode(self, codes: Int64Array) -> pa.Array:
        return fixed_array(self.kind.arrow, codes.astype(self._own))

    def _fields(self, codes: Int64Array) -> Int64Array:
        return codes if self._width == 64 else codes & ((1 << self._width) - 1)

    def _codes(self, fields: Int64Array) -> Int64Array:
        return fields.astype(self._own).astype(np.int64)


class _Floats(ValueCoder):
    """Doubles and floats: the bits, with those of negative numbers inverted except for the sign."""

    def __init__(self, kind: DataType, *, has_negative_zero: bool) -> None:
        super().__init__(kind)
        self._has_negative_zero = has_negative_zero
        self._width = kind.arrow.bit_width
        self._own = np.dtype(f"f{self._width // 8}")
        self._bits = np.dtype(f"i{self._width // 8}")

    def encode(self, column: pa.Array) -> Int64Array:
        numbers = values(column)
        if not self._has_negative_zero:
            numbers = numbers + self._own.type(0)
        return self._ordered(np.where(np.isnan(numbers), self._own.type(np.nan), numbers).view(self._bits))

    def decode(self, codes: Int64Array) -> pa.Array:
        return fixed_array(self.kind.arrow, self._ordered(codes.astype(self._bits)).astype(self._bits))

    def _fields(self, codes: Int64Array) -> Int64Array:
        bits = self._ordered(codes.astype(self._bits))
        return bits if self._width == 64 else bits & ((1 << self._width) - 1)

    def _codes(self, fields: Int64Array) -> Int64Array:
        return self.encode(fixed_array(self.kind.arrow, fields.astype(self._bits)))

    def _ordered(self, bits: Array) -> Int64Array:
        """Return the codes of bits; the same function returns the bits of codes."""
        ordered: Int64Array = np.where(bits < 0, bits ^ np.iinfo(self._bits).max, bits).astype(np.int64)
        return ordered


class _ShortDecimals(ValueCoder):
    """Decimals of up to 18 digits: the unscaled integers."""

    def encode(self, column: pa.Array) -> Int64Array:
        low: Int64Array = decimal_words(column)[::2].copy()
        return low

    def decode(self, codes: Int64Array) -> pa.Array:
        return fixed_array(self.kind.arrow, np.stack([codes, codes >> 63], axis=1))

    def doubles(self, codes: Int64Array) -> Float64Array:
        return values(to_double(self.decode(codes), self.kind))


class _LongDecimals(_ShortDecimals):
    """Decimals of more than 18 digits: the high word and the low word of the unscaled integers."""

    words = 2

    def encode(self, column: pa.Array) -> Int64Array:
        return _swapped(decimal_words(column))

    def decode(self, codes: Int64Array) -> pa.Array:
        return fixed_array(self.kind.arrow, _swapped(codes))

    def read(self, groups: Int64Array, buffers: pa.Array) -> tuple[Int64Array, Int64Array, Int64Array]:
        offsets, data = string_parts(buffers)
        most = (int(offsets[-1]) - int(offsets[0])) // (4 + WIDE_ROW)
        owners, codes, counts = allocate(most, np.int64), allocate(2 * most, np.int64), allocate(most, np.int64)
        size = read_wide_rows(groups, offsets, data, owners, codes, counts)
        return owners[:size], codes[: 2 * size], counts[:size]

    def write(self, codes: Int64Array, counts: Int64Array, bounds: Int64Array) -> pa.Array:
        offsets, data = _new_buffers(np.full(counts.size, 4 + WIDE_ROW), bounds)
        write_wide_rows(codes, counts, bounds, offsets, data)
        return _binary(offsets, data)


def _swapped(words: Int64Array) -> Int64Array:
    """Return pairs of words in the other order."""
    return np.ascontiguousarray(words.reshape(-1, 2)[:, ::-1]).reshape(-1)


class _Texts(ValueCoder):
    """Strings and binary values, numbered in the order of their first occurrence."""

    def __init__(self, kind: DataType) -> None:
        super().__init__(kind)
        self.clear()

    @property
    def nbytes(self) -> int:  # type: ignore[override]
        return self._texts.nbytes + self._ranks.nbytes

    def clear(self) -> None:
        self._texts = StringInterner()
        self._ranks = _IN_ORDER

    def encode(self, column: pa.Array) -> Int64Array:
        return self._texts.intern(column)

    def decode(self, codes: Int64Array) -> pa.Array:
        return self._texts.strings(codes, np.ones(codes.size, dtype=np.bool_), self.kind.arrow)

    def ranks(self) -> Int64Array:
        count = self._texts.count
        if self._ranks.size != count:
            order = pc.sort_indices(self.decode(np.arange(count)).cast(pa.binary()))
            self._ranks = np.empty(count, dtype=np.int64)
            self._ranks[np.asarray(order)] = np.arange(count)
        return self._ranks

    def read(self, groups: Int64Array, buffers: pa.Array) -> tuple[Int64Array, Int64Array, Int64Array]:
        offsets, data = string_parts(buffers)
        nbytes = int(offsets[-1]) - int(offsets[0])
        most = nbytes // (4 + NARROW_ROW)
        owners, counts = allocate(most, np.int64), allocate(most, np.int64)
        text_offsets, text = np.empty(most + 1, dtype=np.int32), allocate(nbytes, np.uint8)
        size = read_text_rows(groups, offsets, data, owners, counts, text_offsets, text)
        parts = [None, pa.py_buffer(text_offsets), pa.py_buffer(text)]
        return owners[:size], self.encode(pa.Array.from_buffers(self.kind.arrow, size, parts)), counts[:size]

    def write(self, codes: Int64Array, counts: Int64Array, bounds: Int64Array) -> pa.Array:
        text_offsets, text = string_parts(self.decode(codes))
        lengths = np.diff(text_offsets).astype(np.int64)
        offsets, data = _new_buffers(4 + NARROW_ROW + ((lengths + 7) & ~7), bounds)
        write_text_rows(text_offsets, text, counts, bounds, offsets, data)
        return _binary(offsets, data)


def value_coder(kind: DataType, *, has_negative_zero: bool = True) -> ValueCoder:
    """Return the coder of a type; without ``has_negative_zero`` −0.0 is read as 0.0."""
    if kind.is_decimal:
        return _ShortDecimals(kind) if kind.precision <= _LONG_DIGITS else _LongDecimals(kind)
    if kind.kind in ("string", "binary"):
        return _Texts(kind)
    if kind.kind == "boolean":
        return _Booleans(kind)
    if pa.types.is_floating(kind.arrow):
        return _Floats(kind, has_negative_zero=has_negative_zero)
    return _Integers(kind)
