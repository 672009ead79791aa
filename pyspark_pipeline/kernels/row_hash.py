"""Spark's row hash, for any hash function: each column is folded into the hash of the preceding columns.

Follows ``HashExpression``: NULL leaves the hash unchanged; boolean, tinyint, smallint and date are hashed as int,
timestamps and decimals of up to 18 digits as bigint, wider decimals as the bytes of their unscaled value; -0.0 is
hashed as 0.0, and all NaNs are equal. The elements of an array are folded in order, as are the fields of a struct, and
the keys and values of a map.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import Array, UInt8Array, UInt32Array
from pyspark_pipeline.kernels.buffers import allocate, bits, decimal_words, string_parts, validity, values
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.take import take


@kernel(forceinline=True)
def shortest_bytes(low: int, high: int, text: UInt8Array) -> int:
    """Write the words of a decimal to ``text`` (16 bytes, big-endian); return the start of ``BigInteger.toByteArray``.

    That is the shortest suffix of ``text`` that preserves the sign.
    """
    for i in range(8):
        text[i] = (np.uint64(high) >> np.uint64(56 - 8 * i)) & np.uint64(0xFF)
        text[8 + i] = (np.uint64(low) >> np.uint64(56 - 8 * i)) & np.uint64(0xFF)
    fill = 0xFF if text[0] & 0x80 else 0
    first = 0
    while first < 15 and text[first] == fill and (text[first + 1] & 0x80) == (fill & 0x80):
        first += 1
    return first


@dataclass(frozen=True, slots=True, kw_only=True)
class RowHash:
    """A hash function as kernels that fold one column into ``hashes`` (of ``dtype``, shape (rows,)) in place.

    The first arguments of ``ints`` and ``longs`` are the values as int32 and int64, of ``booleans`` bits, of the
    decimals their words, of ``strings`` offsets and bytes; the others are validity bits, the number of them to skip,
    and ``hashes``. ``long_lists`` takes offsets, validity bits and how many to skip, int64 elements and theirs.
    """

    dtype: np.dtype[Any]
    ints: Callable[..., None]
    longs: Callable[..., None]
    long_lists: Callable[..., None]
    booleans: Callable[..., None]
    small_decimals: Callable[..., None]
    big_decimals: Callable[..., None]
    strings: Callable[..., None]

    def rows(self, columns: Sequence[pa.Array], rows: int, seed: int) -> Array:
        """Hash every row over ``columns``, starting with ``seed``; shape (rows,).

        Raise :class:`TypeError` for a type that Spark does not hash.
        """
        hashes = allocate(rows, self.dtype)
        hashes[:] = seed
        for index, column in enumerate(columns):
            if pa.types.is_dictionary(column.type):
                if index == 0 and len(column.dictionary) < rows:
                    hashes = self._by_dictionary(column, seed)
                    continue
                column = column.dictionary_decode()
            self._fold(column, hashes)
        return hashes

    def _by_dictionary(self, column: pa.Array, seed: int) -> Array:
        """Hash the dictionary values of the first column once and map the codes to the hashes (NULL: the seed)."""
        known = np.full(len(column.dictionary) + 1, seed, dtype=self.dtype)
        self._fold(column.dictionary, known[:-1])
        indices = column.indices
        codes = values(indices)
        if indices.null_count:
            codes = np.where(np.asarray(indices.is_valid()), codes, len(known) - 1)
        return known[codes]

    def _fold(self, column: pa.Array, hashes: Array) -> None:
        typ = column.type
        bitmap, skip = validity(column)
        if pa.types.is_boolean(typ):
            self.booleans(*bits(column), bitmap, skip, hashes)
        elif pa.types.is_floating(typ):
            self._fold_floats(column, bitmap, skip, hashes)
        elif pa.types.is_decimal(typ):
            fold = self.small_decimals if typ.precision <= 18 else self.big_decimals
            fold(decimal_words(column), bitmap, skip, hashes)
        elif pa.types.is_string(typ) or pa.types.is_binary(typ):
            self.strings(*string_parts(column), bitmap, skip, hashes)
        elif pa.types.is_int64(typ) or pa.types.is_timestamp(typ):
            self.longs(values(column), bitmap, skip, hashes)
        elif pa.types.is_date32(typ) or pa.types.is_integer(typ):
            self.ints(values(column).astype(np.int32, copy=False), bitmap, skip, hashes)
        elif pa.types.is_struct(typ):
            for field in column.flatten():  # whose rows are NULL where the struct is
                self._fold(field, hashes)
        elif pa.types.is_list(typ) and (pa.types.is_int64(typ.value_type) or pa.types.is_timestamp(typ.value_type)):
            elements = column.values
            self.long_lists(column.offsets.to_numpy(), bitmap, skip, values(elements), *validity(elements), hashes)
        elif pa.types.is_list(typ):
            self._fold_elements(column, [column.values], hashes)
        elif pa.types.is_map(typ):
            self._fold_elements(column, [column.keys, column.items], hashes)
        elif not pa.types.is_null(typ):
            raise TypeError(f"Spark has no hash of {typ}")

    def _fold_elements(self, column: pa.Array, parts: Sequence[pa.Array], hashes: UInt32Array) -> None:
        """Fold the elements of arrays, or the keys and values of maps, position by position of all rows at once."""
        offsets = column.offsets.to_numpy().astype(np.int64)
        counts = np.where(np.asarray(column.is_valid()), np.diff(offsets), 0)
        rows = np.flatnonzero(counts)
        position = 0
        while rows.size:
            folded = hashes[rows]
            places = offsets[rows] + position
            for part in parts:
                self._fold(take(part, places), folded)
            hashes[rows] = folded
            position += 1
            rows = rows[counts[rows] > position]

    def _fold_floats(self, column: pa.Array, bitmap: UInt8Array, skip: int, hashes: Array) -> None:
        """Hash the bits of floats with −0.0 as 0.0 and every NaN as Java's canonical one."""
        data = values(column) + 0.0
        data[np.isnan(data)] = np.nan
        if data.dtype == np.float32:
            self.ints(data.view(np.int32), bitmap, skip, hashes)
        else:
            self.longs(data.view(np.int64), bitmap, skip, hashes)
