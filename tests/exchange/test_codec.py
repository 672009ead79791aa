"""The chunk codec: chunks round-trip, compact and without dictionaries, for any alignment of their bytes."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exchange import (
    CHUNK_ROW_SCHEMA,
    CONTROL,
    ChunkRow,
    ExchangeClient,
    decode_chunk,
    encode_chunk,
    pack_rows,
    plain_chunk,
    plain_schema,
    unpack_rows,
)
from pyspark_pipeline.kernels.buffers import rows_only

KINDS = {
    "boolean": [True, None, False] * 5,
    "tinyint": [1, None, -1] * 5,
    "bigint": [1, None, 2**62] * 5,
    "double": [0.5, None, float("inf")] * 5,
    "decimal(38,3)": [Decimal("1.250"), None, Decimal("-9.999")] * 5,
    "string": ["a", None, "längere"] * 5,
    "binary": [b"", None, b"\xff"] * 5,
    "date": [datetime.date(2020, 1, 1), None, datetime.date(1900, 1, 1)] * 5,
    "timestamp": [datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc), None, None] * 5,
    "void": [None] * 15,
}
TYPES = [parse_type(kind) for kind in KINDS]
SCHEMA = plain_schema(TYPES)


def chunk() -> pa.RecordBatch:
    columns = [pa.array(data, kind.arrow) for kind, data in zip(TYPES, KINDS.values(), strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def test_codec_round_trips_all_types() -> None:
    data = encode_chunk(chunk())
    assert data.to_pybytes()[:4] == b"\xff\xff\xff\xff"
    assert decode_chunk(data, SCHEMA).equals(chunk())


@pytest.mark.parametrize("shift", range(8))
def test_decode_reads_unaligned_bytes(shift: int) -> None:
    data = encode_chunk(chunk()).to_pybytes()
    moved = pa.py_buffer(b"x" * shift + data).slice(shift)
    assert decode_chunk(moved, SCHEMA).equals(chunk())


def test_encode_writes_only_rows_of_slice() -> None:
    schema = plain_schema([parse_type("bigint"), parse_type("string")])
    large = pa.RecordBatch.from_arrays([pa.array(range(100_000)), pa.array(["x" * 20] * 100_000)], schema=schema)
    data = encode_chunk(large.slice(50_000, 10))
    assert data.size < 1500
    assert decode_chunk(data, schema).equals(large.slice(50_000, 10))


def test_plain_chunk_decodes_dictionaries() -> None:
    schema = plain_schema([parse_type("string")])
    encoded = pa.RecordBatch.from_arrays([pa.array(["a", None, "a"]).dictionary_encode()], ["x"])
    assert decode_chunk(encode_chunk(plain_chunk(encoded, schema)), schema).column(0).to_pylist() == ["a", None, "a"]


def test_plain_chunk_raises_for_wrong_column_type() -> None:
    ints = pa.RecordBatch.from_arrays([pa.array([1], pa.int32())], ["x"])
    with pytest.raises(EngineBugError, match="column c0"):
        plain_chunk(ints, plain_schema([parse_type("bigint")]))


def test_codec_round_trips_rows_without_columns() -> None:
    schema = plain_schema([])
    assert decode_chunk(encode_chunk(plain_chunk(rows_only(7), schema)), schema).num_rows == 7


@pytest.mark.parametrize("count", [1, 3])
def test_chunk_rows_round_trip_through_pack_and_unpack(count: int) -> None:
    rows = [
        ChunkRow(partition=i, rows=10 * i, data=pa.py_buffer(b"x" * i), driver=-1, sender=4, sequence=i)
        for i in range(count)
    ]
    packed = pack_rows(rows)
    packed.validate(full=True)
    assert packed.schema == CHUNK_ROW_SCHEMA
    again = list(unpack_rows(packed))
    assert [(r.partition, r.rows, r.data.to_pybytes(), r.sender, r.sequence) for r in again] == [
        (r.partition, r.rows, r.data.to_pybytes(), r.sender, r.sequence) for r in rows
    ]


def test_client_requires_control_message_first() -> None:
    control = ChunkRow(partition=CONTROL, rows=0, data=pa.py_buffer(b"{}"))
    data = ChunkRow(partition=2, rows=1, data=pa.py_buffer(b"d"))
    client = ExchangeClient(iter([pack_rows([control, data]), pack_rows([data])]))
    assert client.control() == b"{}"
    assert [input_id for input_id, _ in client.stream()] == [2, 2]
    with pytest.raises(EngineBugError, match="control message"):
        ExchangeClient(iter([pack_rows([data])])).control()
    with pytest.raises(EngineBugError, match="control message"):
        ExchangeClient(iter([])).control()
