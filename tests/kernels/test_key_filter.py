"""Key filters pass every key of their table, never a NULL, and few others; a table returns the values of its keys."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.kernels.join_table import JoinTable
from pyspark_pipeline.kernels.key_filter import KeyFilter, KeyFilterProbe

NAN = float("nan")


def table(*columns: pa.Array) -> JoinTable:
    return JoinTable([column.type for column in columns], [[column] for column in columns], len(columns[0]))


def kept(built: JoinTable, *columns: pa.Array) -> list[int]:
    """Return the numbers of the rows that pass."""
    mask = np.ones(len(columns[0]), dtype=np.uint8)
    count = KeyFilterProbe(KeyFilter(built)).keep(columns, mask)
    assert count == int(mask.sum())
    return [int(row) for row in np.flatnonzero(mask)]


def values(built: JoinTable, place: int, most: int) -> list[int] | None:
    found = built.key_values(place, most)
    return None if found is None else [int(value) for value in found]


def longs(values: Sequence[Any]) -> pa.Array:
    return pa.array(values, pa.int64())


def test_bitmap_passes_exactly_the_keys_of_a_direct_table() -> None:
    built = table(longs([-3, 5, None, 12]))
    assert built.mode == "direct" and KeyFilter(built).is_exact
    assert kept(built, longs([-4, -3, 5, None, 6, 12, 13, 2**63 - 1, -(2**63), 20])) == [1, 2, 5]
    assert kept(table(longs([7])), longs([6, 7, 8])) == [1]
    assert kept(table(longs(range(8))), longs(range(-8, 17))) == list(range(8, 16))
    assert kept(table(longs([None])), longs([None, 0, 1])) == []


@pytest.mark.parametrize("keys", [1, 2], ids=["word", "words"])
def test_bloom_filter_passes_all_keys_and_few_others(keys: int) -> None:
    dice = random.Random(3)
    entered = [dice.randrange(-(2**62), 2**62) for _ in range(5000)]
    others = [dice.randrange(-(2**62), 2**62) for _ in range(50_000)]
    built = table(*[longs(entered)] * keys)
    assert built.mode == ("word" if keys == 1 else "words")
    assert kept(built, *[longs(entered)] * keys) == list(range(5000))
    assert len(kept(built, *[longs(others)] * keys)) < 1000
    assert kept(built, *[longs([None, entered[0]])] * keys) == [1]


@pytest.mark.parametrize("step", [1_000_003, 2**40], ids=["odd", "power of two"])
def test_bloom_filter_passes_few_others_of_strided_keys(step: int) -> None:
    built = table(longs([i * step for i in range(0, 100_000, 10)]))
    assert built.mode == "word"
    assert len(kept(built, longs([i * step for i in range(100_000)]))) < 12_000
    doubles = table(pa.array([float(i) for i in range(0, 100_000, 10)]))
    assert doubles.mode == "word"
    assert len(kept(doubles, pa.array([float(i) for i in range(100_000)]))) < 12_000


def test_filter_does_not_select_cleared_rows() -> None:
    mask = np.array([0, 1, 0, 1], dtype=np.uint8)
    assert KeyFilterProbe(KeyFilter(table(longs([1, 2])))).keep([longs([1, 2, 2, 3])], mask) == 1
    assert mask.tolist() == [0, 1, 0, 0]


def test_nan_equals_nan_and_zeros_are_equal() -> None:
    built = table(pa.array([NAN, -0.0]))
    assert kept(built, pa.array([0.0, 1.0, NAN, None, -0.0])) == [0, 2, 4]


def test_plain_and_dictionary_strings_pass_equally() -> None:
    built = table(pa.array(["a", None, "bc"]), longs([1, 1, 2]))
    strings = pa.array(["a", "bc", "bc", None, "x"])
    numbers = longs([1, 2, 1, 1, 2])
    found = {0, 1} <= set(kept(built, strings, numbers))
    assert found and not {3, 4} & set(kept(built, strings, numbers))
    assert kept(built, strings.dictionary_encode(), numbers) == kept(built, strings, numbers)


def test_key_values_returns_the_values_of_each_key_column() -> None:
    one = table(longs([5, -1, None, 5, 2**40]))
    assert one.keys.ranges == [(-1, 2**40)]
    assert values(one, 0, 3) == [-1, 5, 2**40]
    assert values(one, 0, 2) is None
    two = table(longs([5, -7, None]), longs([100, 300, 1]), pa.array(["b", "a", "c"]))
    assert two.keys.ranges[:2] == [(-7, 5), (100, 300)]
    assert [values(two, place, 9) for place in (0, 1)] == [[-7, 5], [100, 300]]
    wide = table(longs([2**62, -(2**62)]), longs([2**62, -(2**62)]))
    assert wide.keys.ranges == [(-(2**62), 2**62)] * 2
    assert values(wide, 0, 9) is None
    decimals = table(pa.array([1], pa.decimal128(38, 0)), longs([4]))
    assert decimals.keys.ranges == [None, (4, 4)]
    assert table(longs([None])).keys.ranges == [None]
