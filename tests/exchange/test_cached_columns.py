"""Chunks in the form of Spark's cache: they return unchanged, narrow, with the bounds of their columns."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from pyspark_pipeline.exchange.cached_columns import decode_columns, encode_columns
from pyspark_pipeline.exchange.codec import decode_result, encode_chunk, read_payload

_DAY = datetime.date(2024, 2, 29)
_COLUMNS: dict[str, tuple[pa.DataType, list[Any], list[Any]]] = {
    "boolean": (pa.bool_(), [True, None, False], [False, True]),
    "long": (pa.int64(), [2**63 - 1, None, -(2**63)], [-(2**63), 2**63 - 1]),
    "narrow": (pa.int64(), [-128, None, 127], [-128, 127]),
    "wider": (pa.int32(), [-129, None, 127], [-129, 127]),
    "decimal": (pa.decimal128(15, 2), [Decimal("1.20"), None, Decimal("-99.99")], [Decimal("-99.99"), Decimal("1.20")]),
    "wide": (pa.decimal128(38, 0), [Decimal(10**37), None, Decimal(-1)], [Decimal(-1), Decimal(10**37)]),
    "string": (pa.string(), ["é", None, "z"], ["z", "é"]),
    "binary": (pa.binary(), [b"a", None, b""], [None, None]),
    "date": (pa.date32(), [_DAY, None, datetime.date(1, 1, 1)], [datetime.date(1, 1, 1), _DAY]),
    "local": (pa.timestamp("us"), [datetime.datetime(2024, 2, 29), None, None], [datetime.datetime(2024, 2, 29)] * 2),
    "double": (pa.float64(), [1.5, None, -2.0], [-2.0, 1.5]),
    "nulls": (pa.int32(), [None, None, None], [None, None]),
    "void": (pa.null(), [None, None, None], [None, None]),
}


def _chunk() -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(values, kind) for kind, values, _ in _COLUMNS.values()], list(_COLUMNS))


def _header(encoded: pa.Buffer, types: list[pa.DataType]) -> tuple[pa.RecordBatch, pa.Buffer]:
    source = pa.BufferReader(encoded)
    names = [str(i) for i in range(2 * len(types))]
    schema = pa.schema(list(zip(names, [*types, *[pa.int64()] * len(types)], strict=True)))
    header = pa.ipc.read_record_batch(pa.ipc.read_message(source), schema)
    return header, encoded.slice(source.tell())


@pytest.mark.parametrize("codec", [None, "zstd"])
@pytest.mark.parametrize("first", [0, 1])
def test_columns_return_unchanged(codec: str | None, first: int) -> None:
    chunk = _chunk().slice(first)
    _, streams = _header(encode_columns(chunk, codec), chunk.schema.types)
    assert decode_columns(streams, chunk.schema).equals(chunk)
    assert read_payload(streams, chunk.schema).equals(chunk)


def test_result_for_the_cache_and_plain_result_are_decoded() -> None:
    chunk = _chunk()
    assert decode_result(encode_columns(chunk, "zstd"), chunk.schema).equals(chunk)
    assert decode_result(encode_chunk(chunk), chunk.schema).equals(chunk)


def test_header_has_bounds_null_counts_and_stream_sizes() -> None:
    chunk = _chunk()
    header, streams = _header(encode_columns(chunk, "zstd"), chunk.schema.types)
    count = len(_COLUMNS)
    for i, (name, (_, values, bounds)) in enumerate(_COLUMNS.items()):
        assert header.column(i).to_pylist() == bounds, name
        assert header.column(count + i)[0].as_py() == values.count(None), name
    assert sum(header.column(count + i)[1].as_py() for i in range(count)) == streams.size


def test_nan_is_the_upper_bound() -> None:
    nan = float("nan")
    for values, low in (([1.0, nan, None], 1.0), ([nan, nan], nan)):
        header, _ = _header(
            encode_columns(
                pa.RecordBatch.from_arrays([pa.array(values, pa.float64(), from_pandas=False)], ["c"]), None
            ),
            [pa.float64()],
        )
        assert str(header.column(0).to_pylist()) == str([low, nan])


def test_dictionaries_are_kept_if_they_save_space() -> None:
    words = pa.array(["a", "b", None, "a"] * 50).dictionary_encode()
    few, void = words.slice(0, 1), pa.DictionaryArray.from_arrays(pa.array([0, 1, 1]), pa.array(["x", None]))
    schema = pa.schema([("c", pa.string())])
    for column, is_kept in ((words, True), (few, False), (void, False)):
        chunk = pa.RecordBatch.from_arrays([column], ["c"])
        _, streams = _header(encode_columns(chunk, "zstd"), [pa.string()])
        found = decode_columns(streams, schema).column(0)
        assert pa.types.is_dictionary(found.type) == is_kept
        assert found.to_pylist() == column.to_pylist()
