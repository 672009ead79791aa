"""Messages of many partitions at once: those of pyarrow, read back by pyarrow and by the kernels; damaged ones."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.exchange.cached_columns import encode_columns
from pyspark_pipeline.exchange.codec import encode_chunk, unpack_payload
from pyspark_pipeline.exchange.messages import GroupedMessages, Messages, make_messages, read_messages
from pyspark_pipeline.kernels.batch_messages import METADATA_ITEMS, find_metadata

_KINDS: dict[pa.DataType, Any] = {
    pa.int8(): lambda n: n % 100,
    pa.int16(): lambda n: -n,
    pa.int32(): lambda n: n * 1000,
    pa.int64(): lambda n: n << 40,
    pa.float32(): lambda n: n / 2,
    pa.float64(): lambda n: float("nan") if n % 7 == 0 else n / 3,
    pa.bool_(): lambda n: n % 3 == 0,
    pa.date32(): lambda n: n,
    pa.timestamp("us", tz="UTC"): lambda n: n * 10**6,
    pa.decimal128(38, 2): lambda n: Decimal(n) * 10**20,
    pa.string(): lambda n: "é" * (n % 5) + str(n),
    pa.binary(): lambda n: bytes(n % 4),
}


def _chunk(rows: int, nulls: float, seed: int = 1) -> pa.RecordBatch:
    random_ = random.Random(seed)
    columns = [
        pa.array([None if random_.random() < nulls else make(random_.randrange(90)) for _ in range(rows)], kind)
        for kind, make in _KINDS.items()
    ]
    return pa.RecordBatch.from_arrays(columns, names=[f"c{i}" for i in range(len(columns))])


def _starts(rows: int, partitions: int, seed: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the starts of partitions of uneven sizes, some of them empty."""
    cuts = random.Random(seed).choices(range(rows + 1), k=partitions - 1)
    return np.array([0, *sorted(cuts), rows], dtype=np.int64)


def _each(made: GroupedMessages) -> dict[int, pa.Buffer]:
    return {
        partition: pa.py_buffer(message.header + message.message.to_pybytes())
        for partition, _, message in made.each()
    }


def _equal(one: pa.RecordBatch, other: pa.RecordBatch) -> bool:
    return repr(one.to_pylist()) == repr(other.to_pylist()) and one.schema.equals(other.schema)


@pytest.mark.parametrize("nulls", [0, 0.3, 1])
@pytest.mark.parametrize("rows", [1, 9, 500])
def test_rows_of_each_partition_are_read_back(rows: int, nulls: float) -> None:
    # a slice: values, bits and texts do not start with those of the array
    chunk = _chunk(rows + 5, nulls).slice(5)
    starts = _starts(rows, 40, rows)
    made = make_messages(chunk, starts, b"", 0)
    assert made is not None
    found = _each(made)
    for partition in range(40):
        part = chunk.slice(starts[partition], starts[partition + 1] - starts[partition])
        assert (partition in found) == bool(part.num_rows)
        if part.num_rows:
            assert _equal(pa.ipc.read_record_batch(found[partition], chunk.schema), part)
    buffers = list(found.values())
    read = read_messages(Messages.of(buffers, rows), chunk.schema)
    assert read is not None
    together, widths = read
    together.validate(full=True)
    assert widths is None and _equal(together, chunk)


def test_messages_of_pyarrow_are_read_together() -> None:
    chunks = [_chunk(rows, nulls, rows) for rows in (1, 8, 65) for nulls in (0, 0.5)]
    buffers = [encode_chunk(chunk.slice(chunk.num_rows // 3)) for chunk in chunks]
    together, _ = unpack_payload(Messages.of(buffers), chunks[0].schema)
    assert _equal(together, pa.concat_batches([chunk.slice(chunk.num_rows // 3) for chunk in chunks]))


def _cached(chunk: pa.RecordBatch) -> pa.Buffer:
    """Return a chunk as a task receives it from Spark's cache."""
    data = encode_columns(chunk, None)
    source = pa.BufferReader(data)
    pa.ipc.read_message(source)  # for the JVM
    return data.slice(source.tell())


def test_nested_columns_and_chunks_of_the_cache_are_read_one_by_one() -> None:
    nested = pa.RecordBatch.from_pydict({"a": [[1], None, []], "b": [1, 2, 3]})
    assert make_messages(nested, np.array([0, 1, 3], dtype=np.int64), b"", 0) is None
    for encode, chunk in ((encode_chunk, nested), (_cached, _chunk(20, 0.3))):
        messages = Messages.of([encode(chunk), encode(chunk.slice(1))])
        assert read_messages(messages, chunk.schema) is None
        together, _ = unpack_payload(messages, chunk.schema)
        assert _equal(together, pa.concat_batches([chunk, chunk.slice(1)]))


def test_rows_without_columns_are_counted() -> None:
    assert unpack_payload(Messages.of([pa.py_buffer(b"")] * 3, 12), pa.schema([]))[0].num_rows == 12


def test_every_damaged_byte_of_the_metadata_is_survived() -> None:
    chunk = _chunk(20, 0.3)
    message = bytearray(encode_chunk(chunk).to_pybytes())
    metadata_end = 8 + int.from_bytes(message[4:8], "little")
    for at in range(metadata_end):
        for flip in (0x01, 0x80, 0xFF):
            damaged = bytearray(message)
            damaged[at] ^= flip
            try:
                unpack_payload(Messages.of([pa.py_buffer(bytes(damaged))] * 2), chunk.schema)
            except (pa.ArrowException, OSError, MemoryError):
                pass  # pyarrow, which is asked where the kernels refuse, says so


def test_compressed_bodies_and_other_messages_are_refused() -> None:
    chunk = _chunk(300, 0)
    found = np.zeros(METADATA_ITEMS, dtype=np.int64)
    plain = encode_chunk(chunk)
    assert find_metadata(plain.address, plain.size, found)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, chunk.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_batch(chunk)
    reader = pa.BufferReader(sink.getvalue())
    schema = pa.ipc.read_message(reader).serialize()
    assert not find_metadata(schema.address, schema.size, found)
    batch = pa.ipc.read_message(reader).serialize()
    assert not find_metadata(batch.address, batch.size, found)
    assert not find_metadata(plain.address, 12, found)
