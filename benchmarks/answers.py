"""Compares two answers of one query: every row and every value, floats to a relative 1e-9.

Rows are compared as a multiset, because few queries order them totally; the columns of the ORDER BY are
compared in order besides. Values are the same when they have the same type and Spark would print the same:
NaN is NaN, -0.0 is not 0.0, a decimal has its scale.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

_RELATIVE = 1e-9

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The result of a query: column names, the schema in Spark's short form, the rows in order."""

    columns: Sequence[str]
    schema: str
    rows: Sequence[Row]


def same_value(left: Any, right: Any) -> bool:
    """Return whether two values of one column are equal."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        return _same_float(left, right)
    if isinstance(left, Decimal):
        return bool(left == right) and left.as_tuple().exponent == right.as_tuple().exponent
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same_value(left[key], right[key]) for key in left)
    if isinstance(left, (tuple, list)):
        return len(left) == len(right) and all(map(same_value, left, right))
    return bool(left == right)


def _same_float(left: float, right: float) -> bool:
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    if left == 0 and right == 0:
        return math.copysign(1, left) == math.copysign(1, right)
    return math.isclose(left, right, rel_tol=_RELATIVE, abs_tol=0)


def order_columns(sql: str, columns: Sequence[str]) -> list[int]:
    """Return the positions of the output columns that the last ORDER BY of ``sql`` names; empty if it has none."""
    text = re.sub(r"--[^\n]*", "", sql)
    match = re.search(r"order\s+by((?:(?!order\s+by)[^()])*)$", text, re.IGNORECASE)
    if not match:
        return []
    items = re.sub(r"\blimit\b.*", "", match[1], flags=re.IGNORECASE | re.DOTALL).split(",")
    names = [item.split()[0].lower() for item in items if item.split()]
    lower = [column.lower() for column in columns]
    return [lower.index(name) for name in names if name in lower]


def difference(left: Answer, right: Answer, sql: str) -> str | None:
    """Return the first difference between two answers of ``sql``, or None if they are equal."""
    if left.schema != right.schema:
        return f"schema: {left.schema} against {right.schema}"
    if len(left.rows) != len(right.rows):
        return f"rows: {len(left.rows)} against {len(right.rows)}"
    ordered = order_columns(sql, left.columns)
    for number, (one, other) in enumerate(zip(left.rows, right.rows, strict=True)):
        if not all(same_value(one[column], other[column]) for column in ordered):
            return f"order of row {number}: {one} against {other}"
    for one, other in zip(_sorted(left.rows), _sorted(right.rows), strict=True):
        if not same_value(tuple(one), tuple(other)):
            return f"value: {one} against {other}"
    return None


def _sorted(rows: Sequence[Row]) -> list[Row]:
    """Return rows sorted by their exact columns first, so that a small difference of a float does not move its row."""
    return sorted(rows, key=lambda row: (_keys(row, floats=False), _keys(row, floats=True)))


def _keys(row: Row, *, floats: bool) -> list[tuple[bool, Any]]:
    values = [value for value in row if isinstance(value, float) is floats]
    return [(value is None, "" if value is None else _sort_key(value)) for value in values]


def _sort_key(value: Any) -> Any:
    if isinstance(value, float):
        return math.inf if math.isnan(value) else value
    return value if isinstance(value, (int, str, Decimal)) else repr(value)
