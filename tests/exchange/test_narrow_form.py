"""The narrow form of exchanged chunks: values return unchanged, in the fewest bytes that hold them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_pipeline.exchange.codec import decode_result, payload_pieces, read_payload
from pyspark_pipeline.exchange.narrow_form import NarrowForm
from pyspark_pipeline.operators.aggregation.functions.value_lists import list_buffers

_TYPES = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "date": pa.date32(),
    "decimal": pa.decimal128(15, 2),
    "wide": pa.decimal128(38, 4),
    "text": pa.string(),
    "moment": pa.timestamp("us", "UTC"),
}


def _returned(form: NarrowForm, parts: list[pa.RecordBatch], plain: pa.Schema) -> pa.RecordBatch:
    message = form.pack(form.concat([form.narrow(part) for part in parts]))
    data = pa.py_buffer(b"".join(map(memoryview, payload_pieces(message))))
    assert data.size == message.size
    assert decode_result(data, plain).equals(read_payload(data, plain))
    return read_payload(data, plain)


def _chunk(kind: pa.DataType, values: list[Any]) -> pa.RecordBatch:
    return pa.record_batch([pa.array(values, kind)], names=["c0"])


@pytest.mark.parametrize("size", [0, 7, 8, 15, 16, 31, 32, 62])
@pytest.mark.parametrize("name", ["tinyint", "smallint", "int", "bigint"])
def test_integers_at_the_bounds_of_each_width(name: str, size: int) -> None:
    kind = _TYPES[name]
    found = [value for value in (2**size - 1, 2**size, -(2**size), -(2**size) - 1, None)]
    limit = 1 << (kind.bit_width - 1)
    chunk = _chunk(kind, [value for value in found if value is None or -limit <= value < limit] or [0])
    assert _returned(NarrowForm(chunk.schema), [chunk], chunk.schema).equals(chunk)


@pytest.mark.parametrize("digits", [0, 2, 3, 9, 10, 15, 18, 19, 20, 34])
def test_decimals_of_any_size(digits: int) -> None:
    ends = [Decimal(10**digits).scaleb(-4), Decimal(-(10**digits)).scaleb(-4), None, Decimal(0)]
    chunk = _chunk(_TYPES["wide"], ends)
    form = NarrowForm(chunk.schema)
    assert _returned(form, [chunk], chunk.schema).equals(chunk)
    narrow = form.schema.field(0).type
    assert pa.types.is_integer(narrow) == (digits <= 18)


def test_widths_grow_and_older_chunks_are_widened() -> None:
    plain = pa.schema([("i", pa.int64()), ("d", pa.decimal128(12, 2)), ("t", pa.date32()), ("s", pa.string())])

    def chunk(number: int) -> pa.RecordBatch:
        day = dt.date(1970, 1, 1) + dt.timedelta(days=min(number, 40_000))
        columns = [[number, None], [Decimal(number), None], [day, None], [str(number), None]]
        made = [pa.array(column, kind) for column, kind in zip(columns, plain.types, strict=True)]
        return pa.RecordBatch.from_arrays(made, schema=plain)

    form = NarrowForm(plain)
    small, large = chunk(1), chunk(10**9)
    assert _returned(form, [small], plain).equals(small)
    assert [str(kind) for kind in form.schema.types] == ["int8", "int8", "int8", "string"]
    assert _returned(form, [small, large, small], plain).equals(pa.concat_batches([small, large, small]))
    assert [str(kind) for kind in form.schema.types] == ["int32", "int64", "date32[day]", "string"]
    assert _returned(form, [small], plain).equals(small)


@pytest.mark.parametrize("size", [0, 7, 8, 31, 32, 63])
def test_lists_of_one_value_are_narrow(size: int) -> None:
    numbers = np.array([0, 2**size - 1, -(2**size)], dtype=np.int64)
    chunk = pa.record_batch([list_buffers([pa.array(numbers)], np.arange(4))], names=["c0"])
    for part in (chunk, chunk.slice(1), chunk.slice(0, 0)):
        form = NarrowForm(chunk.schema)
        assert _returned(form, [part, part], chunk.schema).equals(pa.concat_batches([part, part]))
        assert pa.types.is_integer(form.schema.field(0).type)


def test_other_bytes_are_not_narrow() -> None:
    one, two = (list_buffers([pa.array([5, 6])], np.array(bounds)) for bounds in ([0, 1, 2], [0, 2]))
    first = one[0].as_py()
    others = [b"", b"x" * 40, first[:39], first + b"x", first[:8] + b"x" + first[9:], two[0].as_py()]
    plain = pa.schema([("c0", pa.binary())])
    uneven = [[b"a" * 39, b"b" * 41], [first[:-8], first + bytes(8)], [None, first]]
    for other in (*uneven, *([value, first] for value in others)):
        form = NarrowForm(plain)
        small, chunk = (pa.record_batch([pa.array(column, pa.binary())], schema=plain) for column in ([first], other))
        assert _returned(form, [small, chunk, small], plain).equals(pa.concat_batches([small, chunk, small]))
        assert form.schema == plain


def test_other_types_and_slices_stay_as_they_are() -> None:
    moments = pa.array([dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc), None, None, None], _TYPES["moment"])
    words = pa.array(["é", None, "", "x"]).dictionary_encode()
    numbers = pa.array([1, 2, None, 300], pa.int64())
    whole = pa.RecordBatch.from_arrays([moments, words.dictionary_decode(), numbers], names=["c0", "c1", "c2"])
    part = whole.slice(1, 3)
    assert _returned(NarrowForm(whole.schema), [part], whole.schema).equals(part)


_VALUES = st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-200, 200)), min_size=1)


@given(_VALUES, _VALUES)
def test_random_chunks_return_unchanged(first: list[int | None], second: list[int | None]) -> None:
    plain = pa.schema([("i", pa.int64()), ("d", pa.decimal128(20, 0))])
    chunks = [
        pa.RecordBatch.from_arrays([pa.array(values, pa.int64()), _decimals(values)], schema=plain)
        for values in (first, second)
    ]
    returned = _returned(NarrowForm(plain), chunks, plain)
    assert returned.equals(pa.concat_batches(chunks))


def _decimals(values: list[int | None]) -> pa.Array:
    return pa.array([None if value is None else Decimal(value) for value in values], pa.decimal128(20, 0))
