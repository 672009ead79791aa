"""The group table numbers keys in the order of their first row, in every mode and across changes of mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyspark_pipeline.kernels.dependent_keys import DependentKeyTable
from pyspark_pipeline.kernels.group_table import GroupTable

EXTREMES = [0, 1, -1, 2**63 - 1, -(2**63), 2**62, 7, 8, 9, 2**32, -(2**31)]


def check(types: list[pa.DataType], chunks: list[list[pa.Array]]) -> GroupTable:
    table = GroupTable(types)
    number_all(table, chunks)
    number_all(DependentKeyTable(types), chunks)
    return table


def number_all(table: GroupTable | DependentKeyTable, chunks: list[list[pa.Array]]) -> None:
    """Assert that the rows of all chunks are numbered in the order of their first occurrence, and found again."""
    known: dict[tuple[Any, ...], int] = {}
    for keys in chunks:
        ids = table.group_ids(keys).tolist()
        rows = list(zip(*(key.to_pylist() for key in keys), strict=True))
        assert ids == [known.setdefault(row, len(known)) for row in rows]
    assert table.count == len(known)
    made = list(zip(*(key.to_pylist() for key in table.keys(0, table.count)), strict=True))
    assert made == list(known)


def chunked(*columns: pa.Array, rows: int) -> list[list[pa.Array]]:
    return [[column.slice(i, rows) for column in columns] for i in range(0, len(columns[0]), rows)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.none(), st.sampled_from(EXTREMES), st.integers(-50, 50)), max_size=60), st.integers(1, 20))
def test_group_table_numbers_any_longs(data: list[int | None], rows: int) -> None:
    check([pa.int64()], chunked(pa.array(data, pa.int64()), rows=rows))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.text(max_size=12)),
            st.one_of(st.none(), st.integers(-128, 127)),
            st.one_of(st.none(), st.booleans()),
            st.one_of(st.none(), st.sampled_from(EXTREMES)),
        ),
        max_size=50,
    ),
    st.integers(1, 20),
)
def test_group_table_numbers_any_columns(data: list[tuple[Any, ...]], rows: int) -> None:
    types = [pa.string(), pa.int8(), pa.bool_(), pa.int64()]
    columns = [pa.array([row[i] for row in data], kind) for i, kind in enumerate(types)]
    check(types, chunked(*columns, rows=rows))
    check(types[:3], chunked(*columns[:3], rows=rows))
    encoded = [columns[0].dictionary_encode(), *columns[1:]]
    check(types, [[key.slice(i, rows) for key in encoded] for i in range(0, len(data), rows)])


def test_mode_depends_on_the_key_ranges() -> None:
    few = pa.array([5, 7, None, 5] * 100, pa.int64())
    assert check([pa.int64()], chunked(few, rows=50)).mode == "direct"
    many = pa.array(np.arange(200_000), pa.int64())
    assert check([pa.int64()], chunked(few.slice(0, 2), rows=9) + chunked(many, rows=65_536)).mode == "word"
    with_null = chunked(many, rows=65_536) + [[pa.array([None, 3, None], pa.int64())]]
    assert check([pa.int64()], with_null).mode == "words"
    pair = [pa.int64(), pa.int64()]
    assert check(pair, chunked(many, pa.array(np.arange(200_000) % 3), rows=65_536)).mode == "words"
    dates = pa.array((np.arange(200_000) % 3000).astype(np.int32)).cast(pa.date32())
    ints = pa.array(np.arange(200_000).astype(np.int32))
    assert check([pa.date32(), pa.int32()], chunked(dates, ints, rows=65_536)).mode == "words"
    assert check([pa.int16(), pa.int32()], chunked(ints.cast(pa.int64()).cast(pa.int16(), safe=False), ints,
                                                   rows=65_536)).mode == "word"


@pytest.mark.parametrize("step", [1, 8, 64, 4096, 2**20, 2**32, 2**44])
def test_strided_keys_do_not_collide(step: int) -> None:
    """The hash keeps adjacent keys together, which must not make strided keys collide."""
    keys = pa.array(np.arange(100_000) * step, pa.int64())
    check([pa.int64()], chunked(keys, rows=65_536) + chunked(keys, rows=65_536))


def test_dictionaries_may_change_between_chunks() -> None:
    chunks = []
    for values in (["a", "b"], ["b", "a"], ["c"], [], ["a", "c", "b", "unused"]):
        for codes in ([0], [0, None, 0], []):
            if values or codes == []:
                array = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(values, pa.string()))
                chunks.append([array])
    chunks.append([pa.array(["a", None, "zz"])])
    check([pa.string()], chunks)


def test_long_and_many_strings_are_numbered() -> None:
    strings = pa.array([("x" * (i % 40)) + str(i % 5000) for i in range(30_000)])
    check([pa.string()], chunked(strings, rows=4096))
    check([pa.binary()], chunked(strings.cast(pa.binary()), rows=4096))


def test_floats_are_normalised() -> None:
    table = GroupTable([pa.float64()])
    nan = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)[0]
    assert table.group_ids([pa.array([0.0, -0.0, float("nan"), nan, None, 1.0])]).tolist() == [0, 0, 1, 1, 2, 3]


@pytest.mark.parametrize("data", [[2**63 - 1], [2**63 - 1, None], [None, 2**63 - 1, 2**63 - 2], [-(2**63), 2**63 - 1]])
def test_extreme_values_differ_from_null(data: list[int | None]) -> None:
    check([pa.int64()], [[pa.array(data, pa.int64())]])
