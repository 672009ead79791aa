"""Tests of the benchmark's comparator: it reports every relevant difference of two answers and no other."""

import datetime
from collections.abc import Sequence
from decimal import Decimal as D
from typing import Any

import pytest

from benchmarks.answers import (
    Answer,
    difference,
    difference_with_ties,
    order_columns,
    same_value,
    without_limit,
)

NAN = float("nan")


def answer(*rows: Sequence[Any], schema: str = "k int, v double") -> Answer:
    return Answer(columns=("k", "v"), schema=schema, rows=[tuple(row) for row in rows])


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (None, 0),
        (None, ""),
        (1, 1.0),
        (True, 1),
        (NAN, 1.0),
        (0.0, -0.0),
        (1.0, 1.0 + 1e-8),
        (1e-300, 2e-300),
        (D("1.0"), D("1.00")),
        (D("1.0"), D("1.1")),
        ("a", "a "),
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"b": 1}),
        ([1, 2], [2, 1]),
        ([1], [1, 1]),
        ((0.0,), (-0.0,)),
        (datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1)),
    ],
)
def test_different_values(left: Any, right: Any) -> None:
    assert not same_value(left, right)
    assert not same_value(right, left)


@pytest.mark.parametrize(
    ("left", "right"),
    [(None, None), (NAN, NAN), (1.0, 1.0 + 1e-12), (D("1.10"), D("1.10")), ({"a": [NAN]}, {"a": [NAN]}), (-0.0, -0.0)],
)
def test_equal_values(left: Any, right: Any) -> None:
    assert same_value(left, right)


def test_unordered_rows_match_in_any_order() -> None:
    assert difference(answer((1, 1.0), (2, NAN)), answer((2, NAN), (1, 1.0)), "select k, v from t") is None


def test_order_by_columns_are_compared_in_order() -> None:
    found = difference(answer((1, 1.0), (2, 2.0)), answer((2, 2.0), (1, 1.0)), "select k, v from t order by k desc")
    assert found is not None and "order" in found


def test_tied_rows_may_swap() -> None:
    assert difference(answer((1, 1.0), (1, 2.0)), answer((1, 2.0), (1, 1.0)), "select k, v from t order by k") is None


@pytest.mark.parametrize(
    "other",
    [
        answer((1, 1.0), (1, 1.0)),
        answer((1, 1.0), (1, 1.0), (2, 2.0), (2, 2.0)),
        answer((1, 1.0), (2, 2.0), (2, 2.0)),
        answer((1, 1.0), (1, 1.0), (2, None)),
        answer((1, 1.0), (1, 1.0), (2, 2.0), schema="k bigint, v double"),
    ],
)
def test_missing_duplicate_or_changed_row_is_reported(other: Answer) -> None:
    assert difference(answer((1, 1.0), (1, 1.0), (2, 2.0)), other, "select k, v from t") is not None


@pytest.mark.parametrize(
    ("sql", "positions"),
    [
        ("select k, v from t", []),
        ("select k, v from t order by v desc, k limit 10", [1, 0]),
        ("select k, v from (select * from t order by k) group by k", []),
        ("select k from t ORDER BY\n  K -- order by v", [0]),
    ],
)
def test_order_columns_reads_last_order_by(sql: str, positions: list[int]) -> None:
    assert order_columns(sql, ("k", "v")) == positions


LIMITED = "select k, v from t order by v limit 2"


def test_without_limit_takes_only_the_one_at_the_end() -> None:
    assert without_limit(LIMITED) == "select k, v from t order by v "
    assert without_limit("select 1 LIMIT\n100;\n\n") == "select 1 "
    assert without_limit("select * from (select 1 limit 1)") is None
    assert without_limit("select k from t") is None


def test_rows_that_tie_at_the_limit_may_differ() -> None:
    ours, theirs = answer((1, 1.0), (2, 2.0)), answer((1, 1.0), (3, 2.0))
    whole = answer((1, 1.0), (2, 2.0), (3, 2.0))
    assert difference(ours, theirs, LIMITED) is not None
    assert difference_with_ties((ours, theirs), (whole, whole), LIMITED) is None


@pytest.mark.parametrize(
    ("theirs", "their_whole"),
    [
        (answer((1, 1.0), (3, 3.0)), answer((1, 1.0), (2, 2.0), (3, 3.0))),  # not the least rows
        (answer((1, 1.0), (4, 2.0)), answer((1, 1.0), (2, 2.0), (3, 2.0))),  # a row that the whole answer lacks
        (answer((1, 1.0), (3, 2.0)), answer((1, 1.0), (2, 2.0), (3, 2.0), (5, 2.0))),  # another whole answer
        (answer((1, 1.0)), answer((1, 1.0), (2, 2.0), (3, 2.0))),
    ],
)
def test_other_differences_of_limited_answers_are_reported(theirs: Answer, their_whole: Answer) -> None:
    whole = answer((1, 1.0), (2, 2.0), (3, 2.0))
    found = difference_with_ties((answer((1, 1.0), (2, 2.0)), theirs), (whole, their_whole), LIMITED)
    assert found is not None
