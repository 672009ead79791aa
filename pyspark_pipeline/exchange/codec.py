"""The wire format of a chunk in Spark: one Arrow IPC record batch message without its schema.

The message is Arrow's encapsulated form (0xFFFFFFFF, metadata length, metadata, body), uncompressed and
without dictionaries, so that Arrow's Java library reads it too. Both ends know the schema from the plan.
The IPC writer writes only the rows of a slice, never the parent's buffers.
Chunks of Spark's cache have another form (:mod:`~.cached_columns`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, TypeAlias

import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exchange.cached_columns import decode_columns
from pyspark_pipeline.exchange.messages import Messages, form_of, read_messages
from pyspark_pipeline.exchange.narrow_form import NarrowMessage, is_narrow, read_narrow, widen
from pyspark_pipeline.kernels.empty_offsets import with_offsets

_ALIGNMENT = 8

#: The message of a chunk (``pa.Buffer``, :class:`~.narrow_form.NarrowMessage`), or several that were received
#: (:class:`~.messages.Messages`); the chunk itself (``pa.RecordBatch``), if it does not leave the process.
Payload: TypeAlias = Any


def plain_schema(types: Sequence[DataType]) -> pa.Schema:
    """Return the schema of chunks on the wire: fields ``c0``, ``c1``, …, nullable, no dictionaries."""
    return pa.schema([pa.field(f"c{i}", t.arrow) for i, t in enumerate(types)])


def plain_chunk(chunk: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Decode the chunk's dictionaries; raise :class:`EngineBugError` if a column does not have its declared type."""
    if not len(schema):
        return chunk
    columns = []
    for field, column in zip(schema, chunk.columns, strict=True):
        plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        if plain.type != field.type:
            raise EngineBugError(f"column {field.name} of a chunk is {plain.type}, declared is {field.type}")
        columns.append(plain)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def encode_chunk(chunk: pa.RecordBatch) -> pa.Buffer:
    """Return the message of a plain chunk (see :func:`plain_chunk`)."""
    return chunk.serialize()


def decode_chunk(data: pa.Buffer, schema: pa.Schema) -> pa.RecordBatch:
    """Return the chunk of a message; its columns share ``data``'s memory, which is copied first if unaligned."""
    if data.address % _ALIGNMENT:
        data = _aligned(data)
    return with_offsets(pa.ipc.read_record_batch(data, schema))


def unpack_payload(payload: Payload, schema: pa.Schema) -> tuple[pa.RecordBatch, bytes | None]:
    """Return the chunk of a payload: the payload itself if it is a chunk, else decoded from its messages or streams.

    If the chunk is narrow, return the widths of its columns too (:mod:`~.narrow_form`).
    """
    if isinstance(payload, pa.RecordBatch):
        return payload, None
    if isinstance(payload, Messages):
        return read_messages(payload, schema) or _each(payload, schema)
    data = _aligned(payload) if payload.address % _ALIGNMENT else payload
    if is_narrow(data):
        return read_narrow(data, schema)
    message = pa.ipc.read_message(data)
    if message.type == "schema":
        return decode_columns(data, schema), None
    return with_offsets(pa.ipc.read_record_batch(message, schema)), None


def _each(messages: Messages, schema: pa.Schema) -> tuple[pa.RecordBatch, bytes | None]:
    """Return the rows of messages that are read one by one."""
    chunks, widths = zip(*(unpack_payload(buffer, schema) for buffer in messages.buffers()), strict=True)
    return pa.concat_batches(chunks), widths[0]


def read_payload(payload: Payload, schema: pa.Schema) -> pa.RecordBatch:
    """Return the chunk of a payload in its plain form."""
    chunk, widths = unpack_payload(payload, schema)
    return chunk if widths is None else widen(chunk, schema)


def read_all(buffers: Sequence[pa.Buffer], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the chunks of messages in their plain form; those of neighbouring small ones of the same form as one."""
    for form, run in groupby(buffers, key=form_of):
        found = list(run)
        if form is None or len(found) == 1 or not len(schema):
            yield from (read_payload(buffer, schema) for buffer in found)
        else:
            yield read_payload(Messages.of(found), schema)


def decode_result(data: pa.Buffer, schema: pa.Schema) -> pa.RecordBatch:
    """Return the chunk of a message of a result or an exchange, also of one that Spark caches."""
    if is_narrow(data):
        return read_payload(data, schema)
    source = pa.BufferReader(data)
    pa.ipc.read_message(source)
    streams = data.slice(source.tell())
    return decode_columns(streams, schema) if streams.size else decode_chunk(data, schema)


def payload_bytes(payload: Payload) -> int:
    """Return the bytes of a message, or those of the rows of a chunk."""
    nbytes: int = payload.nbytes if isinstance(payload, pa.RecordBatch | Messages) else payload.size
    return nbytes


def payload_count(payload: Payload) -> int:
    """Return the number of messages of a payload."""
    return payload.count if isinstance(payload, Messages) else 1


def plain_bytes(payload: Payload) -> int:
    """Return the bytes of a message if its columns were plain."""
    return payload.plain_bytes if isinstance(payload, NarrowMessage) else int(payload.size)


def payload_pieces(payload: Payload) -> tuple[Any, ...]:
    """Return the buffers of a message, one after the other."""
    return (payload.header, payload.message) if isinstance(payload, NarrowMessage) else (payload,)


def _aligned(data: pa.Buffer) -> pa.Buffer:
    copy = pa.allocate_buffer(data.size)
    memoryview(copy).cast("B")[:] = memoryview(data).cast("B")
    return copy
