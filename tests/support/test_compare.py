"""Tests of the comparator: it reports every relevant mutation of a result, and none for an equal result."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import Row

from tests.support.compare import Rule, difference, equal

_NAN = float("nan")
_ORDERED = Rule(ordered=True)
_TOLERANT = Rule(relative=1e-9)
_RULES = [Rule(), _ORDERED, _TOLERANT, Rule(ordered=True, relative=1e-9)]

_PAIRS: list[tuple[Any, Any]] = [
    (_NAN, 1.0),
    (_NAN, None),
    (0.0, -0.0),
    (0.0, None),
    (float("inf"), float("-inf")),
    (float("inf"), 1.7976931348623157e308),
    (1.0, 1),
    (True, 1),
    (1.5, 1.5000001),
    (5e-324, 0.0),
    (Decimal("1.0"), Decimal("1.00")),
    (Decimal("1.0"), Decimal("1.1")),
    (Decimal("1"), 1),
    (Decimal("12345678901234567890123456789012345678"), Decimal("12345678901234567890123456789012345679")),
    (9007199254740993, 9007199254740992),
    ("a", "a "),
    ("a", "A"),
    ("é", "e\u0301"),
    ("", None),
    ("1", 1),
    (bytearray(b"a"), bytearray(b"b")),
    (bytearray(b"a"), "a"),
    (datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1)),
    (datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, microsecond=1)),
    ([1, 2], [2, 1]),
    ([1, 1], [1]),
    ([], None),
    ({"k": 1}, {"k": 2}),
    ({"k": 1}, {"j": 1}),
    ({"k": _NAN}, {"k": 1.0}),
    ({"k": 1, "j": 2}, {"k": 1}),
    ({"k": [1, 2]}, {"k": [2, 1]}),
    (Row(a=1, b=2), Row(a=1, b=3)),
    (Row(a=1, b=2), Row(a=1, c=2)),
    (Row(a=0.0), Row(a=-0.0)),
]


def _name(pair: tuple[Any, Any]) -> str:
    return f"{pair[0]!r}-{pair[1]!r}"[:60]


@pytest.mark.parametrize("rule", _RULES, ids=lambda rule: f"ordered={rule.ordered} relative={rule.relative}")
@pytest.mark.parametrize("pair", _PAIRS, ids=_name)
def test_comparator_reports_changed_value(pair: tuple[Any, Any], rule: Rule) -> None:
    before, after = pair
    rows = [Row(k=1, v=before), Row(k=2, v=before), Row(k=2, v=before)]
    assert difference(rows, list(rows), rule) is None
    for index in range(len(rows)):
        changed = list(rows)
        changed[index] = Row(k=rows[index].k, v=after)
        assert difference(rows, changed, rule) is not None
        assert difference(changed, rows, rule) is not None
    assert not equal(before, after, rule)


@pytest.mark.parametrize("rule", _RULES)
def test_comparator_reports_missing_duplicates_and_rows(rule: Rule) -> None:
    rows = [Row(v=1.5), Row(v=1.5), Row(v=None)]
    assert difference(rows, rows[1:], rule) is not None
    assert difference(rows[1:], rows, rule) is not None
    assert difference(rows, [], rule) is not None
    assert difference([], rows, rule) is not None
    assert difference(rows, [Row(v=1.5), Row(v=None), Row(v=None)], rule) is not None
    assert difference([], [], rule) is None


def test_comparator_checks_order_only_if_ordered() -> None:
    rows = [Row(v=1), Row(v=2)]
    assert difference(rows, rows[::-1]) is None
    assert difference(rows, rows[::-1], _ORDERED) is not None


def test_comparator_equates_zeros_if_unsigned() -> None:
    unsigned = Rule(signed_zeros=False)
    assert difference([Row(v=0.0)], [Row(v=-0.0)], unsigned) is None
    assert difference([Row(v=0.0)], [Row(v=5e-324)], unsigned) is not None


def test_comparator_tolerance_is_relative_and_narrow() -> None:
    assert difference([Row(v=1e300)], [Row(v=1e300 * (1 + 1e-12))], _TOLERANT) is None
    assert difference([Row(v=1e300)], [Row(v=1e300 * (1 + 1e-8))], _TOLERANT) is not None
    assert difference([Row(v=1e-300)], [Row(v=2e-300)], _TOLERANT) is not None
    assert difference([Row(v=1.0)], [Row(v=1.0 + 1e-12)]) is not None


def test_tolerant_comparison_matches_rows_in_any_order() -> None:
    rows = [Row(k=None, a=float(number), b=-float(number)) for number in range(50)]
    noisy = [Row(k=None, a=row.a * (1 + 1e-12), b=row.b * (1 - 1e-12)) for row in reversed(rows)]
    assert difference(rows, noisy, _TOLERANT) is None
    swapped = [*noisy[:-2], Row(k=None, a=noisy[-2].a, b=noisy[-1].b), Row(k=None, a=noisy[-1].a, b=noisy[-2].b)]
    assert difference(rows, swapped, _TOLERANT) is not None


def test_comparator_describes_differences() -> None:
    text = difference([Row(v=number) for number in range(9)], [Row(v=1)])
    assert text is not None and "9 rows expected, 1 rows given" in text and "missing: Row(v=0)" in text
    assert "4 more rows" in text
