"""Many small messages of one form, made and read together (:mod:`~pyspark_pipeline.kernels.batch_messages`).

An exchange of few rows has a message for each partition, and pyarrow needs longer for a message than a kernel for all
of them. The form on the wire is the same: each may also be read alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.exchange.narrow_form import NarrowMessage, header_of, narrow_schema
from pyspark_pipeline.kernels.arrays import Int64Array, UInt8Array
from pyspark_pipeline.kernels.batch_messages import (
    BITS,
    BODY,
    BODY_SIZE,
    BUFFERS,
    BYTES,
    COLUMN_ITEMS,
    METADATA_ITEMS,
    NODES,
    NULLS,
    ROWS,
    TEXT,
    TEXT_BYTES,
    find_metadata,
    gather_messages,
    measure_messages,
    write_messages,
)
from pyspark_pipeline.kernels.buffers import allocate, allocate_zeros, rows_only

#: Messages of fewer bytes are made and read together.
SMALL_BYTES = 8 << 10
_WORD = 8
_SLACK = 8


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages with the same header: addresses and sizes (int64), the rows of all if known, what holds their bytes."""

    addresses: Int64Array
    sizes: Int64Array
    rows: int | None
    memory: Any

    @staticmethod
    def of(buffers: Sequence[pa.Buffer], rows: int | None = None) -> Messages:
        """Return buffers with the same header as messages."""
        addresses = np.array([buffer.address for buffer in buffers], dtype=np.int64)
        return Messages(addresses, np.array([buffer.size for buffer in buffers], dtype=np.int64), rows, buffers)

    @property
    def nbytes(self) -> int:
        """The bytes of all messages."""
        return int(self.sizes.sum())

    @property
    def count(self) -> int:
        """The number of messages."""
        return int(self.sizes.size)

    def buffers(self) -> Iterator[pa.Buffer]:
        """Yield each message."""
        for address, size in zip(self.addresses.tolist(), self.sizes.tolist(), strict=True):
            yield pa.foreign_buffer(address, size, self.memory)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedMessages:
    """A message for each partition that has rows, for any driver there, the first of ``sender``.

    ``data`` has the messages one after the other, behind headers of ``header`` bytes; ``ends``, ``rows`` and
    ``plain_bytes`` (int64, shape (partitions,)): the end of each, its rows, its bytes if its columns were plain.
    """

    data: UInt8Array
    ends: Int64Array
    rows: Int64Array
    plain_bytes: Int64Array
    header: int
    sender: int = 0

    @property
    def nbytes(self) -> int:
        """The bytes of all messages."""
        return self.data.nbytes

    @property
    def count(self) -> int:
        """The number of messages."""
        return int(np.count_nonzero(self.rows))

    def each(self) -> Iterator[tuple[int, int, NarrowMessage]]:
        """Yield the partition, the rows and the message of each partition that has rows."""
        data = pa.py_buffer(self.data)
        for partition in np.flatnonzero(self.rows).tolist():
            start = int(self.ends[partition - 1]) if partition else 0
            message = data.slice(start, int(self.ends[partition]) - start)
            header = message.slice(0, self.header).to_pybytes()
            plain_bytes = int(self.plain_bytes[partition])
            yield partition, int(self.rows[partition]), NarrowMessage(header, message.slice(self.header), plain_bytes)


@lru_cache(maxsize=256)
def _kinds(schema: pa.Schema) -> Int64Array | None:
    """Return the kind and the width of each column; None if kernels do not know the form of one."""
    found = []
    for kind in schema.types:
        if pa.types.is_boolean(kind):
            found.append((BITS, 0))
        elif pa.types.is_string(kind) or pa.types.is_binary(kind):
            found.append((TEXT, 0))
        elif pa.types.is_primitive(kind) or pa.types.is_decimal128(kind):
            found.append((BYTES, kind.bit_width // 8))
        else:
            return None
    return np.array(found, dtype=np.int64).reshape(len(found), 2)


def _address(buffer: pa.Buffer | None) -> int:
    return 0 if buffer is None else int(buffer.address)


def make_messages(grouped: pa.RecordBatch, starts: Int64Array, header: bytes, saved: int) -> GroupedMessages | None:
    """Return the messages of the rows of each partition, those from ``starts[p]`` to ``starts[p + 1]``.

    ``header`` precedes each; ``saved``: the bytes by which a row of plain columns is longer. None if kernels do not
    know the form of a column, or there are no columns.
    """
    kinds = _kinds(grouped.schema)
    rows = np.diff(starts)
    if kinds is None or not len(kinds) or not grouped.num_rows:
        return None
    first = int(np.flatnonzero(rows)[0])
    sample = grouped.slice(int(starts[first]), int(rows[first])).serialize()
    places = np.zeros(METADATA_ITEMS, dtype=np.int64)
    if not find_metadata(sample.address, sample.size, places):
        return None
    places[[ROWS, NODES, BUFFERS, BODY_SIZE, BODY]] -= sample.address - len(header)
    template = np.frombuffer(header + sample.slice(0, int(places[BODY]) - len(header)).to_pybytes(), dtype=np.uint8)
    columns = np.zeros((len(kinds), COLUMN_ITEMS), dtype=np.int64)
    columns[:, :2] = kinds
    room = 0
    for described, column in zip(columns, grouped.columns, strict=True):
        buffers = column.buffers()
        described[2:] = _address(buffers[1]), _address(buffers[0]) if column.null_count else 0, 0, column.offset
        if len(buffers) == 3:
            described[4] = _address(buffers[2])
        room += column.nbytes
    messages = int(np.count_nonzero(rows))
    out = allocate(room + messages * (template.size + (3 * _WORD + 4) * len(kinds)), np.uint8)
    ends = np.empty(rows.size, dtype=np.int64)
    write_messages(columns, starts, template.copy(), places, out, ends)
    sizes = np.diff(ends, prepend=0)
    plain_bytes = np.where(rows > 0, sizes - len(header) + saved * rows, 0)
    return GroupedMessages(
        data=out[: int(ends[-1])], ends=ends, rows=rows, plain_bytes=plain_bytes, header=len(header)
    )


def form_of(buffer: pa.Buffer) -> bytes | None:
    """Return the header of a small message, by which it may be read with others; None for a large one."""
    if buffer.size >= SMALL_BYTES:
        return None
    return memoryview(buffer)[: header_of(buffer)[0]].tobytes()


def read_messages(messages: Messages, plain: pa.Schema) -> tuple[pa.RecordBatch, bytes | None] | None:
    """Return the rows of messages as one chunk, and the widths of its columns if it is narrow.

    ``plain`` is the schema of its plain form. None if kernels do not know the form of the messages.
    """
    if not len(plain) and messages.rows is not None:
        return rows_only(messages.rows), None
    header, widths = header_of(next(messages.buffers()))
    made = _gathered(messages, header, plain if widths is None else narrow_schema(plain, widths))
    return None if made is None else (made, widths)


def _gathered(messages: Messages, header: int, schema: pa.Schema) -> pa.RecordBatch | None:
    kinds = _kinds(schema)
    if kinds is None or not len(kinds):
        return None
    totals = np.zeros((len(kinds), 2), dtype=np.int64)
    rows = measure_messages(messages.addresses, messages.sizes, header, kinds, totals)
    if rows < 0 or (messages.rows is not None and rows != messages.rows):
        return None
    if int(totals[:, TEXT_BYTES].max()) >= 1 << 31:
        return None
    columns = np.zeros((len(kinds), COLUMN_ITEMS), dtype=np.int64)
    buffers = []
    for described, (kind, width), (nulls, text_bytes) in zip(columns, kinds.tolist(), totals.tolist(), strict=True):
        bitmap = allocate_zeros((rows + 7) // 8, np.uint8) if nulls else None
        if kind == BITS:
            parts = [allocate_zeros((rows + 7) // 8, np.uint8)]
        elif kind == BYTES:
            parts = [allocate(rows * width + _SLACK, np.uint8)]
        else:
            parts = [allocate_zeros(4 * (rows + 1), np.uint8), allocate(text_bytes, np.uint8)]
        described[2:5] = parts[0].ctypes.data, 0 if bitmap is None else bitmap.ctypes.data, parts[-1].ctypes.data
        buffers.append([bitmap, *parts])
    gather_messages(messages.addresses, messages.sizes, header, kinds, columns)
    made = [
        pa.Array.from_buffers(kind, rows, [part if part is None else pa.py_buffer(part) for part in parts], int(nulls))
        for kind, parts, nulls in zip(schema.types, buffers, totals[:, NULLS], strict=True)
    ]
    return pa.RecordBatch.from_arrays(made, schema=schema)
