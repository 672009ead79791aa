"""The form of a chunk in Spark's cache: each column is an Arrow IPC stream of its own, so that readers fetch only some.

A stream has one batch of one column, compressed if the session's cache is. Integers, dates, timestamps and decimals of
up to 18 digits are stored as the narrowest integers that hold the chunk's values, decimals unscaled; strings keep their
dictionary. The schema of a stream names the stored type; the plan knows the column's type.

A chunk on its way to the cache is a *header*, then its streams. The header is a record batch message of two rows: for
each column of the chunk its lower and upper bound (NULL if it has none), and for each its count of NULLs and the bytes
of its stream. A chunk from the cache is only the streams of the columns that are read.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.exchange.narrow_form import narrowed, widened
from pyspark_pipeline.kernels.buffers import make_chunk

_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_MAX_LONG_DIGITS = 18
#: Numbers are compressed if they take this many times fewer bytes then. To decompress one takes 1 to 6 ns with zstd,
#: more than to add or to compare it.
_LEAST_GAIN = 16


def encode_columns(chunk: pa.RecordBatch, codec: str | None) -> pa.Buffer:
    """Return header and streams of a chunk of at least one column; ``codec`` is that of Arrow's IPC (None: plain)."""
    physical = [_physical(column) for column in chunk.columns]
    bounds = [_bounds(column, integers) for column, integers in zip(chunk.columns, physical, strict=True)]
    streams = [_stream(_narrow(column), codec) for column in physical]
    counts = [
        pa.array([column.null_count, stream.size], pa.int64()) for column, stream in zip(physical, streams, strict=True)
    ]
    header = make_chunk([*bounds, *counts], 2).serialize()
    return pa.py_buffer(b"".join(memoryview(part) for part in (header, *streams)))


def decode_columns(data: pa.Buffer, schema: pa.Schema) -> pa.RecordBatch:
    """Return the chunk of the concatenated streams of all columns of ``schema``, in its types."""
    source = pa.BufferReader(data)
    columns = []
    for field in schema:
        with pa.ipc.open_stream(source) as stream:
            columns.append(_widen(stream.read_next_batch().column(0), field.type))
            for _ in stream:  # reads the end of the stream
                pass
    return pa.RecordBatch.from_arrays(columns, schema=_schema_of(columns, schema))


def _schema_of(columns: Sequence[pa.Array], schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(field.name, column.type) for field, column in zip(schema, columns, strict=True)])


def _physical(column: pa.Array) -> pa.Array:
    """Return the column's values as integers if its type has such, else the column; dictionaries have no NULL entry."""
    kind = column.type
    if pa.types.is_decimal(kind) and kind.precision <= _MAX_LONG_DIGITS:
        return narrowed(column, pa.int64())
    if pa.types.is_date32(kind):
        return column.view(pa.int32())
    if pa.types.is_timestamp(kind):
        return column.view(pa.int64())
    if pa.types.is_dictionary(kind) and (column.dictionary.null_count or len(column.dictionary) > len(column)):
        return column.dictionary_decode()
    return column


def _bounds(column: pa.Array, physical: pa.Array) -> pa.Array:
    """Return lower and upper bound in the column's type. NaN is above all other values, as in Spark."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind, physical = kind.value_type, physical.dictionary if physical.type == kind else physical
    if pa.types.is_null(kind) or pa.types.is_binary(kind):
        return pa.nulls(2, kind)
    if pa.types.is_floating(kind):
        return _float_bounds(physical)
    found = pc.min_max(physical)
    ends = pa.array([found["min"].as_py(), found["max"].as_py()], physical.type)
    return ends if ends.type == kind else _widen(ends, kind)


def _float_bounds(column: pa.Array) -> pa.Array:
    is_nan = pc.is_nan(column)
    found = pc.min_max(column.filter(pc.invert(is_nan)))
    has_nan = pc.any(is_nan).as_py()
    low, high = found["min"].as_py(), found["max"].as_py()
    nan = float("nan")
    ends = [nan if has_nan and low is None else low, nan if has_nan else high]
    return pa.array(ends, column.type, from_pandas=False)


def _narrow(column: pa.Array) -> pa.Array:
    """Return integers, or the indices of a dictionary, as the narrowest type that holds them."""
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(_narrow(column.indices), column.dictionary, safe=False)
    if column.type not in _INTEGERS:
        return column
    found = pc.min_max(column)
    low, high = found["min"].as_py(), found["max"].as_py()
    for narrow in _INTEGERS[: _INTEGERS.index(column.type)]:
        limit = 1 << (narrow.bit_width - 1)
        if low is None or (-limit <= low and high < limit):
            return column.cast(narrow, safe=False)
    return column


def _stream(column: pa.Array, codec: str | None) -> pa.Buffer:
    """Return the stream of a column; one of numbers is compressed only if that saves most of its bytes."""
    if codec is None or not _is_number(column.type):
        return _written(column, codec)
    compressed = _written(column, codec)
    return compressed if compressed.size * _LEAST_GAIN <= column.nbytes else _written(column, None)


def _is_number(kind: pa.DataType) -> bool:
    return not pa.types.is_dictionary(kind) and pa.types.is_primitive(kind)


def _written(column: pa.Array, codec: str | None) -> pa.Buffer:
    batch = pa.RecordBatch.from_arrays([column], ["c"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def _widen(column: pa.Array, target: pa.DataType) -> pa.Array:
    """Return a stored column in its own type; a dictionary of strings stays one."""
    if column.type == target:
        return column
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices.cast(pa.int32()), column.dictionary, safe=False)
    return widened(column, target)
