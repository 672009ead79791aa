"""The elements of sets by type: what Spark has in a set, when two are equal, and their hashes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.expressions.cast_decimal import to_double
from pyspark_pipeline.expressions.java_numbers import Digits
from pyspark_pipeline.kernels.arrays import Int32Array, Int64Array
from pyspark_pipeline.kernels.buffers import decimal_words, fixed_array, values
from pyspark_pipeline.kernels.scala_sets import hash_floating, hash_longs, hash_scaled, hash_texts
from pyspark_pipeline.kernels.unsafe_arrays import arrays_of_bytes, bytes_of_arrays

_TRUE, _FALSE = 1231, 1237
_NAN = 0x7FF8 << 48


class Elements:
    """Integers, dates, timestamps and intervals: equal if their integers are."""

    def __init__(self, kind: DataType) -> None:
        self.kind = kind
        #: The type of the elements in Spark's buffers.
        self.stored = kind.arrow
        #: The type of the keys, by which elements are told apart.
        self.key = kind.arrow

    def encode(self, column: pa.Array) -> pa.Array:
        """Return the elements of values that are not NULL, as they are stored."""
        return column

    def decode(self, column: pa.Array) -> pa.Array:
        """Return the values of stored elements."""
        return column

    def keys(self, column: pa.Array) -> pa.Array:
        """Return the keys of stored elements; equal elements have equal keys."""
        return column

    def of_keys(self, keys: pa.Array) -> pa.Array:
        """Return the stored elements of keys."""
        return keys

    def repeats(self, owners: Int64Array, column: pa.Array) -> Int64Array:
        """Return the positions of elements that equal an earlier one of their owner, although their keys differ."""
        return np.empty(0, dtype=np.int64)

    def hashes(self, column: pa.Array) -> Int32Array:
        """Return the hashes of stored elements; int32."""
        return hash_longs(values(column))


class _Booleans(Elements):
    def hashes(self, column: pa.Array) -> Int32Array:
        return np.where(np.asarray(column), _TRUE, _FALSE).astype(np.int32)


class _Texts(Elements):
    """Strings, equal if their bytes are."""

    def hashes(self, column: pa.Array) -> Int32Array:
        return hash_texts(column)


class _Bytes(_Texts):
    """Bytes, which Spark holds as arrays."""

    def encode(self, column: pa.Array) -> pa.Array:
        return arrays_of_bytes(column)

    def decode(self, column: pa.Array) -> pa.Array:
        return bytes_of_arrays(column)


class _FloatBits(Elements):
    """Doubles and floats by their bits, in which all NaNs are equal, and −0.0 is 0.0 (since Spark 4.3)."""

    def hashes(self, column: pa.Array) -> Int32Array:
        numbers = values(column)
        return hash_longs(numbers.view(f"<i{numbers.dtype.itemsize}"))


class _Floats(Elements):
    """Doubles and floats as numbers: 0.0 equals −0.0, and no NaN equals another one (before Spark 4.3)."""

    def __init__(self, kind: DataType) -> None:
        super().__init__(kind)
        self.key = pa.int64()
        self._nans = 0

    def keys(self, column: pa.Array) -> pa.Array:
        bits = values(column).astype(np.float64).view(np.int64)
        nans = np.flatnonzero(np.isnan(bits.view(np.float64)))
        bits[nans] = _NAN + self._nans + np.arange(nans.size)
        self._nans += nans.size
        return pa.array(bits)

    def of_keys(self, keys: pa.Array) -> pa.Array:
        numbers = values(keys).view(np.float64)
        numbers = np.where(np.isnan(numbers), np.nan, numbers)
        return fixed_array(self.stored, numbers.astype(f"<f{self.stored.bit_width // 8}"))

    def repeats(self, owners: Int64Array, column: pa.Array) -> Int64Array:
        zeros = np.flatnonzero(values(column) == 0)
        firsts = np.unique(owners[zeros], return_index=True)[1]
        return np.delete(zeros, firsts)

    def hashes(self, column: pa.Array) -> Int32Array:
        return hash_floating(values(column))


class _Decimals(Elements):
    """Decimals of up to 18 digits, with the hash of an integer or of the double that prints the same digits."""

    def __init__(self, kind: DataType, *, is_shortest: bool) -> None:
        super().__init__(kind)
        self._is_shortest = is_shortest

    def hashes(self, column: pa.Array) -> Int32Array:
        unscaled = np.ascontiguousarray(decimal_words(column)[::2])
        power = 10**self.kind.scale
        whole = unscaled // power
        hashes = hash_longs(whole)
        rest = np.flatnonzero(whole * power != unscaled)
        if rest.size:
            hashes[rest] = self._hash_fractions(column.take(pa.array(rest)), unscaled[rest])
        return hashes

    def _hash_fractions(self, column: pa.Array, unscaled: Int64Array) -> Int32Array:
        doubles = values(to_double(column, self.kind))
        printed = Digits.of(doubles, self._is_shortest)
        digits, places = _stripped(printed.digits, printed.counts - printed.exponents)
        own, scales = _stripped(unscaled, np.full(unscaled.size, self.kind.scale))
        is_double = (digits == np.abs(own)) & (places == scales)
        return np.where(is_double, hash_floating(doubles), hash_scaled(own, scales))


def _stripped(digits: Int64Array, scales: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return integers without zeros at the end, and the scales with which they are the same decimals."""
    digits, scales = digits.copy(), scales.copy()
    ending = np.flatnonzero((digits % 10 == 0) & (digits != 0))
    while ending.size:
        digits[ending] //= 10
        scales[ending] -= 1
        ending = ending[digits[ending] % 10 == 0]
    return digits, scales


def set_elements(kind: DataType, *, has_bits: bool, is_shortest: bool) -> Elements:
    """Return the elements of sets of values of one type.

    ``has_bits``: Spark has the bits of doubles and floats in sets; ``is_shortest``: Java prints the shortest digits.
    """
    if kind.is_decimal:
        return _Decimals(kind, is_shortest=is_shortest)
    if kind.kind in ("float", "double"):
        return _FloatBits(kind) if has_bits else _Floats(kind)
    made = {"boolean": _Booleans, "string": _Texts, "binary": _Bytes}.get(kind.kind, Elements)
    return made(kind)
