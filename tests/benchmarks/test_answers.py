"""The comparator of the benchmark: each way two answers can differ is caught, and what does not matter passes."""

import datetime
from collections.abc import Sequence
from decimal import Decimal as D
from typing import Any

import pytest

from benchmarks.answers import Answer, difference, order_columns, same_value

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
def test_values_that_differ(left: Any, right: Any) -> None:
    assert not same_value(left, right)
    assert not same_value(right, left)


@pytest.mark.parametrize(
    ("left", "right"),
    [(None, None), (NAN, NAN), (1.0, 1.0 + 1e-12), (D("1.10"), D("1.10")), ({"a": [NAN]}, {"a": [NAN]}), (-0.0, -0.0)],
)
def test_values_that_are_the_same(left: Any, right: Any) -> None:
    assert same_value(left, right)


def test_rows_without_an_order_may_come_in_any() -> None:
    assert difference(answer((1, 1.0), (2, NAN)), answer((2, NAN), (1, 1.0)), "select k, v from t") is None


def test_the_order_of_the_order_by_columns_counts() -> None:
    told = difference(answer((1, 1.0), (2, 2.0)), answer((2, 2.0), (1, 1.0)), "select k, v from t order by k desc")
    assert told is not None and "order" in told


def test_rows_that_tie_in_the_order_may_swap() -> None:
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
def test_a_missing_doubled_or_changed_row_is_caught(other: Answer) -> None:
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
def test_the_last_order_by_is_read(sql: str, positions: list[int]) -> None:
    assert order_columns(sql, ("k", "v")) == positions
