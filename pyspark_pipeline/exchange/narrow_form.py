"""Chunks of an exchange with narrow columns: integers, dates and decimals in the fewest bytes that hold the values.

A narrow message is a header (magic, number of columns, the width of each column in bytes or 0 if it is plain, zeros to
a whole word) and the record batch message of the narrow columns. The widths of a sink only grow, so that its buffered
chunks differ rarely. A binary column of lists of one value each (:mod:`~pyspark_pipeline.kernels.single_lists`) is
narrow too: it has these values as integers, and its width the bit :data:`LISTS`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.kernels.buffers import allocate, decimal_words, fixed_array, values
from pyspark_pipeline.kernels.decimal_words import bitmap_of, decimal_array, new_words
from pyspark_pipeline.kernels.narrow_words import long_bounds, narrow_decimals
from pyspark_pipeline.kernels.row_ranges import widen_ints, widen_longs
from pyspark_pipeline.kernels.single_lists import (
    SINGLE_BYTES,
    read_singles,
    single_bounds,
    singles_of,
    words_of_singles,
)

MAGIC = 0x4E415252
#: The bit in the width of a column of lists of one value.
LISTS = 64
_HEADER = struct.Struct("<II")
_INTEGERS = {1: pa.int8(), 2: pa.int16(), 4: pa.int32(), 8: pa.int64()}
_PLAIN_WIDTHS = {pa.int16(): 2, pa.int32(): 4, pa.int64(): 8, pa.date32(): 4}


@dataclass(frozen=True, slots=True)
class NarrowMessage:
    """A header and a record batch message; ``plain_bytes`` is the size of a message of the plain columns."""

    header: bytes
    message: pa.Buffer
    plain_bytes: int

    @property
    def size(self) -> int:
        """The bytes of both."""
        return len(self.header) + int(self.message.size)


class NarrowForm:
    """The widths of the columns of a sink's chunks, ``schema`` if they were plain."""

    def __init__(self, schema: pa.Schema) -> None:
        self._plain = schema
        self._widths = [_first_width(field.type) for field in schema]
        self.schema = self._schema()

    def narrow(self, chunk: pa.RecordBatch) -> pa.RecordBatch:
        """Return the chunk with columns as narrow as the values allow, at least as wide as those of earlier chunks."""
        columns = chunk.columns
        widths = [_wider(width, column) if width else 0 for width, column in zip(self._widths, columns, strict=True)]
        if widths != self._widths:
            self._widths = widths
            self.schema = self._schema()
        made = [
            narrowed(column, _integer(width)) if width else column
            for width, column in zip(widths, columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(made, names=self._plain.names)

    def concat(self, parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
        """Return the rows of narrow chunks as one, as wide as the last."""
        schema = self.schema
        same = [part if part.schema.equals(schema) else widen(part, schema) for part in parts]
        return same[0] if len(same) == 1 else pa.concat_batches(same)

    def pack(self, chunk: pa.RecordBatch) -> NarrowMessage:
        """Return the message of a chunk of :meth:`concat`."""
        message = chunk.serialize()
        return NarrowMessage(self.header, message, message.size + self.saved * chunk.num_rows)

    @property
    def header(self) -> bytes:
        """The header of a message."""
        header = _HEADER.pack(MAGIC, len(self._widths)) + bytes(self._widths)
        return header + bytes(-len(header) % 8)

    @property
    def saved(self) -> int:
        """The bytes by which a row of plain columns is longer."""
        pairs = zip(self._plain, self._widths, strict=True)
        return sum(_plain_width(field.type) - (width & ~LISTS) for field, width in pairs if width)

    def _schema(self) -> pa.Schema:
        return narrow_schema(self._plain, bytes(self._widths))


@lru_cache(maxsize=256)
def narrow_schema(plain: pa.Schema, widths: bytes) -> pa.Schema:
    """Return the schema of narrow chunks whose columns have these widths (0: a plain column)."""
    return pa.schema(
        [field.with_type(_integer(width)) if width else field for width, field in zip(widths, plain, strict=True)]
    )


def _integer(width: int) -> pa.DataType:
    """Return the type of the values of a narrow column."""
    return _INTEGERS[width & ~LISTS]


def _first_width(kind: pa.DataType) -> int:
    """Return the least width of a column of a type; 0 if it has no narrow form."""
    return 1 | LISTS if pa.types.is_binary(kind) else 1 if _plain_width(kind) else 0


def _plain_width(kind: pa.DataType) -> int:
    """Return the bytes of a plain value of a type that has narrow columns; else 0."""
    if pa.types.is_binary(kind):
        return SINGLE_BYTES + 4
    return 16 if pa.types.is_decimal128(kind) else _PLAIN_WIDTHS.get(kind, 0)


def _wider(width: int, column: pa.Array) -> int:
    """Return the width that holds the column's values, at least ``width``; 0 if it is that of plain values."""
    if pa.types.is_binary(column.type):
        lists = words_of_singles(column)
        fits, low, high = (False, 0, 0) if lists is None else single_bounds(*lists)
        return LISTS | _fitting(width & ~LISTS, low, high) if fits else 0
    if pa.types.is_decimal128(column.type):
        fits, low, high = long_bounds(decimal_words(column))
        if not fits:
            return 0
    else:
        found = pc.min_max(column.view(pa.int32()) if pa.types.is_date32(column.type) else column)
        low, high = found["min"].as_py() or 0, found["max"].as_py() or 0
    width = _fitting(width, low, high)
    return width if width < _plain_width(column.type) else 0


def _fitting(width: int, low: int, high: int) -> int:
    """Return the first of ``width``, twice it, … bytes that hold the values from ``low`` to ``high``."""
    while not -(1 << (8 * width - 1)) <= low <= high < 1 << (8 * width - 1):
        width *= 2
    return width


def narrowed(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return integers, days, unscaled decimals or the values of lists of one as integers of a type that holds them."""
    if pa.types.is_binary(column.type):
        lists = words_of_singles(column)
        assert lists is not None
        found = allocate(len(column), kind.to_pandas_dtype())
        read_singles(lists[1], found)
        return fixed_array(kind, found)
    if not pa.types.is_decimal128(column.type):
        plain = column.view(pa.int32()) if pa.types.is_date32(column.type) else column
        return plain.cast(kind, safe=False)
    rows = len(column)
    data = pa.allocate_buffer(rows * kind.bit_width // 8)
    narrow_decimals(decimal_words(column), np.frombuffer(data, dtype=kind.to_pandas_dtype()))
    valid = bitmap_of(column.is_valid()) if column.null_count else None
    return pa.Array.from_buffers(kind, rows, [valid, data], column.null_count)


def is_narrow(data: pa.Buffer) -> bool:
    """Return whether a message has narrow columns."""
    return len(data) >= _HEADER.size and bool(_HEADER.unpack_from(data)[0] == MAGIC)


def read_narrow(data: pa.Buffer, plain: pa.Schema) -> tuple[pa.RecordBatch, bytes]:
    """Return the narrow chunk of a message and its widths; ``plain`` is the schema of its plain form."""
    start, widths = header_of(data)
    assert widths is not None
    return pa.ipc.read_record_batch(data.slice(start), narrow_schema(plain, widths)), widths


def header_of(data: pa.Buffer) -> tuple[int, bytes | None]:
    """Return the bytes of the header of a message, and the widths of its columns; 0 and None if it is plain."""
    if not is_narrow(data):
        return 0, None
    _, count = _HEADER.unpack_from(data)
    end = _HEADER.size + count
    return end + -end % 8, memoryview(data)[_HEADER.size : end].tobytes()


def widen(chunk: pa.RecordBatch, plain: pa.Schema) -> pa.RecordBatch:
    """Return a narrow chunk in the wider form of a schema, which may be the plain one."""
    columns = [
        column if column.type == kind else widened(column, kind)
        for column, kind in zip(chunk.columns, plain.types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=plain)


def widened(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return a narrow column in the wider type ``kind``: integers, days, microseconds, decimals or lists of one."""
    if pa.types.is_binary(kind):
        return singles_of(values(column.cast(pa.int64())))
    if not pa.types.is_decimal128(kind):
        width = pa.int32() if pa.types.is_date32(kind) else pa.int64() if pa.types.is_timestamp(kind) else kind
        return column.cast(width).view(kind)
    rows = len(column)
    if not rows:
        return pa.nulls(0, kind)
    buffer, words = new_words(rows)
    if column.type == pa.int64():
        widen_longs(values(column), words.reshape(-1))
    else:
        widen_ints(values(column.cast(pa.int32())), words.reshape(-1))
    valid = bitmap_of(column.is_valid()) if column.null_count else None
    return decimal_array(kind, rows, valid, buffer)
