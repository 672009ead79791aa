"""Kernels of the elements of arrays, compared with Python: sets, orders, and the integers that stand for values."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.expressions.element_codes import equality_codes, order_keys, valid_flags
from pyspark_pipeline.expressions.nested import Elements
from pyspark_pipeline.kernels.chosen_elements import count_chosen, first_chosen, has_chosen
from pyspark_pipeline.kernels.element_order import least_places, sorted_places
from pyspark_pipeline.kernels.element_places import inserted_places, interleaved_places
from pyspark_pipeline.kernels.element_sets import first_places, members

#: The numbers of elements of rows, few and many: the kernels compare few by another way.
_SIZES = (0, 1, 2, 5, 16, 17, 40, 300)


def _lists(seed: int, nulls: bool = True) -> list[list[int | None]]:
    source = random.Random(seed)
    values = [*range(-30, 30), *([None] * 6 if nulls else [])]
    return [[source.choice(values) for _ in range(source.choice(_SIZES))] for _ in range(60)]


def _parts(lists: list[list[int | None]]) -> tuple[Any, Any, Any]:
    elements = Elements(pa.array(lists, pa.list_(pa.int64())))
    values = elements.values()
    return elements.ends, equality_codes([values])[0], valid_flags(values)


@pytest.mark.parametrize("seed", range(4))
def test_first_places_are_those_of_the_first_equal_elements(seed: int) -> None:
    lists = _lists(seed)
    ends, codes, valid = _parts(lists)
    wanted = [start + part.index(value) for start, part in zip(ends, lists, strict=False) for value in part]
    assert first_places(ends, codes, valid).tolist() == wanted


@pytest.mark.parametrize("seed", range(4))
def test_members_are_elements_of_the_other_array(seed: int) -> None:
    lists, others = _lists(seed), _lists(seed + 100, nulls=seed % 2 == 0)
    wanted = [value in other for part, other in zip(lists, others, strict=True) for value in part]
    assert members(*_parts(lists), *_parts(others)).tolist() == wanted


@pytest.mark.parametrize("seed", range(4))
def test_chosen_elements_of_rows(seed: int) -> None:
    source = random.Random(seed)
    lists = [[source.random() < 0.1 for _ in range(source.choice(_SIZES))] for _ in range(60)]
    chosen = np.array([flag for part in lists for flag in part], dtype=np.bool_)
    ends = np.cumsum([0, *map(len, lists)])
    firsts = [start + part.index(True) if True in part else -1 for start, part in zip(ends, lists, strict=False)]
    assert has_chosen(ends, chosen).tolist() == [any(part) for part in lists]
    assert count_chosen(ends, chosen).tolist() == [sum(part) for part in lists]
    assert first_chosen(ends, chosen).tolist() == firsts
    assert has_chosen(ends[:1], chosen[:0]).tolist() == []


@pytest.mark.parametrize("nulls_first", [True, False])
def test_elements_are_sorted_in_their_rows(nulls_first: bool) -> None:
    lists = _lists(7)
    ends, keys, valid = _parts(lists)
    places = sorted_places(ends, keys, valid, nulls_first=nulls_first)
    flat = [value for part in lists for value in part]
    wanted: list[int] = []
    for start, part in zip(ends, lists, strict=False):
        own = range(start, start + len(part))
        nulls = [place for place in own if flat[place] is None]
        others = sorted((place for place in own if flat[place] is not None), key=lambda place: flat[place] or 0)
        wanted += nulls + others if nulls_first else others + nulls
    assert places.tolist() == wanted


def test_the_least_element_is_the_first_one() -> None:
    lists = _lists(3)
    ends, keys, valid = _parts(lists)
    found = least_places(ends, keys, valid)
    for start, part, place in zip(ends, lists, found, strict=False):
        known = [value for value in part if value is not None]
        assert place == (start + part.index(min(known)) if known else -1)


@pytest.mark.parametrize(("values", "type_"), [
    ([1.5, float("-inf"), -0.0, 0.0, float("nan"), -float("nan"), 5e-324, -1.5], pa.float64()),
    ([1.5, -2.5, float("nan"), 0.0, -0.0], pa.float32()),
    ([True, False], pa.bool_()),
    ([Decimal("1.25"), Decimal("-3.00"), Decimal("0.00")], pa.decimal128(9, 2)),
    ([Decimal("1.25") * 10**25, Decimal("-3.00"), Decimal("-1.25") * 10**25], pa.decimal128(38, 2)),
    (["b", "", "ba", "é", "a"], pa.string()),
    ([b"\xff", b"", b"a"], pa.binary()),
    ([-5, 20_000, 0], pa.date32()),
])  # fmt: skip
def test_integers_compare_as_values(values: list[Any], type_: pa.DataType) -> None:
    array = pa.array([*values, None], type_)[1:].cast(type_)
    array = pa.concat_arrays([pa.array(values[:1], type_), array])
    keys, (codes,) = order_keys(array), equality_codes([array])
    known = array.to_pylist()[:-1]
    for left, a in enumerate(known):
        for right, b in enumerate(known):
            both_nan, a_nan, b_nan = a != a and b != b, a != a, b != b
            less = (not a_nan and b_nan) or (not a_nan and not b_nan and a < b)
            assert (keys[left] < keys[right]) == less
            assert (codes[left] == codes[right]) == (both_nan or a == b)


def test_elements_of_slices_and_of_rows_that_are_left_out() -> None:
    array = pa.array([[9], [1, 2], None, [], [3]], pa.list_(pa.int64())).slice(1)
    elements = Elements(array)
    assert elements.values().to_pylist() == [1, 2, 3]
    assert elements.ends.tolist() == [0, 2, 2, 2, 3] and elements.owners.tolist() == [0, 0, 3]
    assert Elements(array, np.array([False, False, True, True])).values().to_pylist() == [3]
    assert Elements(array.slice(0, 0)).values().to_pylist() == []


def test_interleaved_arrays_follow_each_other_row_by_row() -> None:
    places = interleaved_places(np.array([0, 2, 2, 3]), np.array([0, 1, 3, 3]))
    assert places.tolist() == [0, 1, 3, 4, 5, 2]


def test_an_item_is_inserted_within_behind_and_before_an_array() -> None:
    firsts, counts = np.array([0, 2, 2, 4, 4]), np.array([2, 0, 2, 0, 1])
    lengths, positions = np.array([3, 2, 5, 0, 3]), np.array([1, 1, -1, 0, 2])
    places = inserted_places(firsts, counts, lengths, positions, 100)
    assert places.tolist() == [0, 100, 1, -1, 101, 102, -1, -1, 2, 3, 4, -1, 104]
