"""Strings that other keys determine find no groups, until a row shows that they do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyspark_pipeline.kernels.dependent_keys import DependentKeyTable
from tests.kernels.test_group_table import chunked, number_all

_TYPES = [pa.int64(), pa.string(), pa.string()]
_TEXTS = ["", "a", "b", "seven b", "eight by", "eight bz", "nine byte", "é" * 9, "x" * 40, "x" * 39 + "y"]


def numbered(types: Sequence[pa.DataType], chunks: list[list[pa.Array]]) -> DependentKeyTable:
    table = DependentKeyTable(types)
    number_all(table, chunks)
    return table


def customers(count: int, rows: int) -> list[pa.Array]:
    numbers = [i * 7919 % count for i in range(rows)]
    names = [None if i == 3 else f"Customer#{i:09d}" for i in numbers]
    return [pa.array(numbers, pa.int64()), pa.array(names), pa.array([f"{i % 9}" * (i % 30) for i in numbers])]


def test_strings_that_a_number_determines_find_no_groups() -> None:
    assert numbered(_TYPES, chunked(*customers(900, 3000), rows=128)).dependent == [1, 2]


def test_the_first_string_determines_if_there_is_no_other_key() -> None:
    _, names, places = customers(900, 3000)
    assert numbered(_TYPES[1:], chunked(names, places, rows=128)).dependent == [1]


@pytest.mark.parametrize("text", [*_TEXTS, None])
@pytest.mark.parametrize("other", [*_TEXTS, None])
def test_another_string_is_another_group(text: str | None, other: str | None) -> None:
    """The row with the other string comes in the first chunk, or once there are many groups."""
    wide = customers(5000, 9000)
    row = [pa.array([4, 4], pa.int64()), pa.array(["k", "k"]), pa.array([text, other], pa.string())]
    for chunks in ([row], [row, *chunked(*wide, rows=1024)], [*chunked(*wide, rows=1024), row, row]):
        known = numbered(_TYPES, chunks).dependent
        assert known == ([1, 2] if len(chunks) == 1 and text == other else [1] if len(chunks) == 1 else known)


def test_only_the_column_that_differs_finds_groups() -> None:
    number, name, place = customers(900, 3000)
    moved = chunked(number, name, pa.array(["elsewhere"] * 3000), rows=128)
    table = numbered(_TYPES, chunked(number, name, place, rows=128) + moved)
    assert (table.dependent, table.count) == ([1], 1800)


def test_a_dictionary_finds_groups_and_may_come_later() -> None:
    number, name, place = customers(40, 500)
    encoded = [number, name, place.dictionary_encode()]
    assert numbered(_TYPES, [encoded, [number, name, place]]).dependent == [1]
    assert numbered(_TYPES, [[number, name, place], encoded]).dependent == [1, 2]


def test_an_empty_chunk_chooses_no_columns() -> None:
    keys = customers(40, 500)
    encoded = [keys[0], keys[1], keys[2].dictionary_encode()]
    assert numbered(_TYPES, [[key.slice(0, 0) for key in keys], encoded]).dependent == [1]


def test_byte_strings_and_a_single_column() -> None:
    number, name, _ = customers(40, 500)
    binary = name.cast(pa.binary())
    assert numbered([pa.int64(), pa.binary()], chunked(number, binary, rows=77)).dependent == [1]
    assert numbered([pa.binary()], chunked(binary, rows=77)).dependent == []
    assert numbered([pa.int64()], chunked(number, rows=77)).dependent == []


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(*[st.one_of(st.none(), st.integers(0, 3)) for _ in range(4)]), max_size=60),
    st.integers(1, 20),
    st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_any_columns_are_numbered(data: list[tuple[Any, ...]], rows: int, encoded: list[bool]) -> None:
    texts = [[None if row[i] is None else _TEXTS[row[i] + 2 * i] for row in data] for i in range(4)]
    columns = [pa.array(text, pa.string()) for text in texts]
    mixed = [c.dictionary_encode() if is_encoded else c for c, is_encoded in zip(columns, encoded, strict=True)]
    numbered([pa.string()] * 4, chunked(*mixed, rows=rows))
    numbers = pa.array([row[0] for row in data], pa.int64())
    numbered([pa.int64()] + [pa.string()] * 3, chunked(numbers, *mixed[1:], rows=rows))
