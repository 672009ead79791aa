"""Range conjuncts of a filter: all those of one column are merged into one range, tested by one kernel.

A comparison of a column with a constant that is not NULL is a range (its bounds are integers: an integer value,
days, microseconds, or a decimal's unscaled value) and drops the rows whose column is NULL. AND, OR and IN of such
comparisons are a range too if the values that they accept have no gap. Other conjuncts remain expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.kernels.decimal_words import unscaled
from pyspark_pipeline.plan.expr import Call, ColumnRef, Expr, Literal

_BITS = {"int": 32, "date": 32, "bigint": 64, "timestamp": 64, "timestamp_ntz": 64, "decimal": 64}

_Interval = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Selects the rows whose column ``ordinal`` is not NULL and lies in [``low``, ``high``]; none if low > high."""

    ordinal: int
    low: int
    high: int

    def intersection(self, other: Range) -> Range:
        """Return the range of the rows that both select."""
        return Range(ordinal=self.ordinal, low=max(self.low, other.low), high=min(self.high, other.high))


@dataclass(frozen=True, slots=True)
class _Intervals:
    """The values of one column that satisfy a condition: disjoint intervals in order; NULL never satisfies it."""

    column: ColumnRef
    intervals: tuple[_Interval, ...]

    def union(self, other: _Intervals) -> _Intervals:
        made: list[_Interval] = []
        for low, high in sorted(self.intervals + other.intervals):
            if made and low <= made[-1][1] + 1:
                made[-1] = (made[-1][0], max(made[-1][1], high))
            else:
                made.append((low, high))
        return _Intervals(self.column, tuple(made))

    def intersection(self, other: _Intervals) -> _Intervals:
        pairs = ((max(a[0], b[0]), min(a[1], b[1])) for a in self.intervals for b in other.intervals)
        return _Intervals(self.column, tuple(sorted(pair for pair in pairs if pair[0] <= pair[1])))


_BOUNDS: Mapping[str, Callable[[int, int, int], _Interval]] = {
    "EqualTo": lambda value, least, most: (value, value),
    "LessThan": lambda value, least, most: (least, value - 1),
    "LessThanOrEqual": lambda value, least, most: (least, value),
    "GreaterThan": lambda value, least, most: (value + 1, most),
    "GreaterThanOrEqual": lambda value, least, most: (value, most),
}
_MIRRORED = {
    "EqualTo": "EqualTo",
    "LessThan": "GreaterThan",
    "LessThanOrEqual": "GreaterThanOrEqual",
    "GreaterThan": "LessThan",
    "GreaterThanOrEqual": "LessThanOrEqual",
}


def range_of(expr: Expr) -> Range | None:
    """Return the range that is equivalent to a conjunct; None if there is none."""
    found = _intervals(expr)
    if found is None or len(found.intervals) > 1:
        return None
    low, high = found.intervals[0] if found.intervals else (1, 0)
    return Range(ordinal=found.column.ordinal, low=low, high=high)


def _intervals(expr: Expr) -> _Intervals | None:
    """Return the values that satisfy a condition on one column; None for other conditions."""
    if not isinstance(expr, Call):
        return None
    if expr.name in ("And", "Or"):
        left, right = (_intervals(arg) for arg in expr.args)
        if left is None or right is None or left.column.ordinal != right.column.ordinal:
            return None
        return left.union(right) if expr.name == "Or" else left.intersection(right)
    if expr.name == "IsNotNull":
        column = expr.args[0]
        bounds = _type_bounds(column.type)
        return None if bounds is None or not isinstance(column, ColumnRef) else _Intervals(column, (bounds,))
    if expr.name == "In":
        return _in_list(expr.args[0], expr.args[1:])
    if expr.name not in _BOUNDS:
        return None
    name, (column, constant) = expr.name, expr.args
    if isinstance(column, Literal):
        name, column, constant = _MIRRORED[name], constant, column
    value = _constant(column, constant)
    bounds = _type_bounds(column.type)
    if value is None or bounds is None or not isinstance(column, ColumnRef):
        return None
    low, high = _BOUNDS[name](value, *bounds)
    return _Intervals(column, ((low, high),) if low <= high else ())


def _in_list(column: Expr, items: Sequence[Expr]) -> _Intervals | None:
    values = [value for item in items if (value := _constant(column, item)) is not None]
    if not isinstance(column, ColumnRef) or len(values) < len(items):
        return None
    return _Intervals(column, ()).union(_Intervals(column, tuple((value, value) for value in values)))


def _constant(column: Expr, constant: Expr) -> int | None:
    """Return a constant of the column's type as an integer; None for other constants, NULL, and more than 64 bits."""
    bounds = _type_bounds(column.type)
    if not isinstance(constant, Literal) or column.type != constant.type or bounds is None or constant.value is None:
        return None
    value = unscaled(constant.value, column.type.scale) if column.type.is_decimal else int(constant.value)
    return value if bounds[0] <= value <= bounds[1] else None


def _type_bounds(kind: DataType) -> _Interval | None:
    bits = _BITS.get(kind.kind)
    return None if bits is None else (-(1 << bits - 1), (1 << bits - 1) - 1)


def split_ranges(conjuncts: Sequence[Expr]) -> dict[Range, list[int]]:
    """Return the ranges, one per column, each with the positions of the conjuncts that it replaces.

    A column that is only tested for NULL has no range: the test costs nothing on columns without NULLs.
    """
    found: dict[int, tuple[Range, list[int]]] = {}
    compared: set[int] = set()
    for position, part in enumerate(conjuncts):
        wanted = range_of(part)
        if wanted is None:
            continue
        known, positions = found.get(wanted.ordinal, (wanted, []))
        found[wanted.ordinal] = known.intersection(wanted), [*positions, position]
        if not is_null_test(part):
            compared.add(wanted.ordinal)
    return {wanted: positions for wanted, positions in found.values() if wanted.ordinal in compared}


def is_null_test(expr: Expr) -> bool:
    """Return whether a conjunct is ``IS NOT NULL``."""
    return isinstance(expr, Call) and expr.name == "IsNotNull"
