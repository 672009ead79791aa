"""Pruning of row groups that cannot hold a matching row, by the statistics in the file's footer.

Conservative: an unsupported expression may match. Bounds are not assumed to be values of the column (a writer may
truncate them). Floating columns are pruned only if a NaN, which statistics omit and Spark orders as the largest value,
would not match either.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.plan.expr import Call, ColumnRef, Expr, Literal

_EPOCH = datetime.date(1970, 1, 1)
_EPOCH_UTC = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MICROSECOND = datetime.timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnBounds:
    """The statistics of one column of one row group; ``None`` if the footer has no value."""

    low: Any = None
    high: Any = None
    nulls: int | None = None
    rows: int = 0

    @property
    def all_null(self) -> bool:
        return self.nulls is not None and self.nulls == self.rows


Bounds = Mapping[int, ColumnBounds]


def may_match(conjuncts: Sequence[Expr], bounds: Bounds) -> bool:
    """Return whether a row group with these ``bounds`` (by output ordinal) may hold a row that all conjuncts keep."""
    return all(_may(conjunct, bounds) for conjunct in conjuncts)


def comparable(value: Any, kind: DataType) -> Any:
    """Convert a footer's value to the form of a :class:`Literal` of the type; None if it cannot be compared."""
    if value is None:
        return None
    if isinstance(value, datetime.datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=datetime.timezone.utc)
        return (aware - _EPOCH_UTC) // _MICROSECOND
    if isinstance(value, datetime.date):
        return (value - _EPOCH).days
    if kind.is_floating and value != value:
        return None
    if kind.kind == "string":
        return value.encode() if isinstance(value, str) else value
    return value


def _may(expr: Expr, bounds: Bounds) -> bool:
    if isinstance(expr, Literal):
        return expr.type.kind != "boolean" or expr.value is True
    if isinstance(expr, Call):
        rule = _RULES.get(expr.name)
        return True if rule is None else rule(expr, bounds)
    return True


def _and(call: Call, bounds: Bounds) -> bool:
    return all(_may(arg, bounds) for arg in call.args)


def _or(call: Call, bounds: Bounds) -> bool:
    return any(_may(arg, bounds) for arg in call.args)


def _is_null(call: Call, bounds: Bounds) -> bool:
    known = _of(call.args[0], bounds)
    return known is None or known.nulls != 0


def _is_not_null(call: Call, bounds: Bounds) -> bool:
    known = _of(call.args[0], bounds)
    return known is None or not known.all_null


def _in(call: Call, bounds: Bounds) -> bool:
    column = call.args[0]
    return any(_compare("EqualTo", column, item, bounds) for item in islice(call.args, 1, None))


def _comparison(call: Call, bounds: Bounds) -> bool:
    left, right = call.args
    if isinstance(left, Literal):
        return _compare(_MIRRORED[call.name], right, left, bounds)
    return _compare(call.name, left, right, bounds)


def _compare(name: str, column: Expr, literal: Expr, bounds: Bounds) -> bool:
    known = _of(column, bounds)
    if known is None or not isinstance(literal, Literal) or literal.type != column.type:
        return True
    if literal.value is None:
        return name == "EqualNullSafe" and known.nulls != 0
    if known.all_null:
        return False
    wanted = comparable(literal.value, literal.type)
    if wanted is None:
        return True
    if column.type.is_floating and name.startswith("GreaterThan"):
        return True
    return _TESTS[name](known, wanted)


def _equal(known: ColumnBounds, wanted: Any) -> bool:
    return (known.low is None or known.low <= wanted) and (known.high is None or wanted <= known.high)


_TESTS: Mapping[str, Callable[[ColumnBounds, Any], bool]] = {
    "EqualTo": _equal,
    "EqualNullSafe": _equal,
    "LessThan": lambda known, wanted: known.low is None or known.low < wanted,
    "LessThanOrEqual": lambda known, wanted: known.low is None or known.low <= wanted,
    "GreaterThan": lambda known, wanted: known.high is None or known.high > wanted,
    "GreaterThanOrEqual": lambda known, wanted: known.high is None or known.high >= wanted,
}
_MIRRORED = {
    "EqualTo": "EqualTo",
    "EqualNullSafe": "EqualNullSafe",
    "LessThan": "GreaterThan",
    "LessThanOrEqual": "GreaterThanOrEqual",
    "GreaterThan": "LessThan",
    "GreaterThanOrEqual": "LessThanOrEqual",
}
_RULES: Mapping[str, Callable[[Call, Bounds], bool]] = {
    "And": _and,
    "Or": _or,
    "IsNull": _is_null,
    "IsNotNull": _is_not_null,
    "In": _in,
    **{name: _comparison for name in _TESTS},
}


def _of(expr: Expr, bounds: Bounds) -> ColumnBounds | None:
    return bounds.get(expr.ordinal) if isinstance(expr, ColumnRef) else None
