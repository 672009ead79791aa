"""Compares two answers of one query: every row and every value, floats to a relative 1e-9.

Rows are compared as a multiset, because few queries order them totally; the columns of the ORDER BY are
compared in order besides. Values are the same when they have the same type and Spark would print the same:
NaN is NaN, -0.0 is not 0.0, a decimal has its scale. Where rows that tie in the ORDER BY straddle a LIMIT, each engine
may keep others of them: then the answers without the LIMIT are compared.
"""

from __future__ import annotations

import math
import re
from collections import Counter
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


def without_limit(sql: str) -> str | None:
    """Return ``sql`` without the LIMIT at its end, None if it does not end with one."""
    found = re.fullmatch(r"(.*)\blimit\s+\d+[\s;]*", sql, re.IGNORECASE | re.DOTALL)
    return found[1] if found else None


def difference(left: Answer, right: Answer, sql: str) -> str | None:
    """Return the first difference between two answers of ``sql``, or None if they are equal."""
    return _difference_in_order(left, right, sql) or _difference_of_values(left, right)


def difference_with_ties(limited: tuple[Answer, Answer], whole: tuple[Answer, Answer], sql: str) -> str | None:
    """Return the first difference between two answers of ``sql``, or None if they differ only in rows that tie.

    ``limited`` are the answers with the LIMIT at the end of ``sql``, ``whole`` those without. The columns of the ORDER
    BY must be the same in the limited answers, every row of them be one of the whole answer, and the whole ones equal.
    """
    found = _difference_in_order(*limited, sql)
    for part, all_rows in zip(limited, whole, strict=True):
        if found is None and Counter(map(_exact_values, part.rows)) - Counter(map(_exact_values, all_rows.rows)):
            found = "value: a row with LIMIT is not in the answer without"
    return found or difference(*whole, sql)


def _exact_values(row: Row) -> str:
    return repr([value for value in row if not isinstance(value, float)])


def _difference_in_order(left: Answer, right: Answer, sql: str) -> str | None:
    """Return the first difference in schema, number of rows or the columns of the ORDER BY."""
    if left.schema != right.schema:
        return f"schema: {left.schema} against {right.schema}"
    if len(left.rows) != len(right.rows):
        return f"rows: {len(left.rows)} against {len(right.rows)}"
    ordered = order_columns(sql, left.columns)
    for number, (one, other) in enumerate(zip(left.rows, right.rows, strict=True)):
        if not all(same_value(one[column], other[column]) for column in ordered):
            return f"order of row {number}: {one} against {other}"
    return None


def _difference_of_values(left: Answer, right: Answer) -> str | None:
    """Return the first difference between the rows as multisets."""
    for one, other in zip(_sorted(left.rows), _sorted(right.rows), strict=True):
        for column, ours, theirs in zip(left.columns, one, other, strict=True):
            if not same_value(ours, theirs):
                return f"{column}: {ours} against {theirs}, in {one}"
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
