"""The conjuncts of a filter that say "between": all of one column become one range, tested by one kernel.

A comparison of a column with a constant that is not NULL is such a range (its ends are whole numbers: of an
integer, of days, of microseconds, of a decimal's last digit), and drops the rows where the column is NULL. So are
AND, OR and IN of such, where the values they allow have no gap. What is no range stays an expression.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.kernels.decimal_words import unscaled
from pyspark_pipeline.plan.expr import Call, ColumnRef, Expr, Literal

_BITS = {"int": 32, "date": 32, "bigint": 64, "timestamp": 64, "timestamp_ntz": 64, "decimal": 64}

_Span = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Keeps the rows whose column ``ordinal`` is not NULL and lies in [``low``, ``high``]; none where low > high."""

    ordinal: int
    low: int
    high: int

    def within(self, other: Range) -> Range:
        """Give the range of the rows that both keep."""
        return Range(ordinal=self.ordinal, low=max(self.low, other.low), high=min(self.high, other.high))


@dataclass(frozen=True, slots=True)
class _Spans:
    """The values of one column that make a condition true, in order and with gaps between them; NULL never does."""

    column: ColumnRef
    spans: tuple[_Span, ...]

    def united(self, other: _Spans) -> _Spans:
        made: list[_Span] = []
        for low, high in sorted(self.spans + other.spans):
            if made and low <= made[-1][1] + 1:
                made[-1] = (made[-1][0], max(made[-1][1], high))
            else:
                made.append((low, high))
        return _Spans(self.column, tuple(made))

    def common(self, other: _Spans) -> _Spans:
        pairs = ((max(a[0], b[0]), min(a[1], b[1])) for a in self.spans for b in other.spans)
        return _Spans(self.column, tuple(sorted(pair for pair in pairs if pair[0] <= pair[1])))


_BOUNDS: Mapping[str, Callable[[int, int, int], _Span]] = {
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
    """Give the range that a conjunct is, None where it is none."""
    found = _spans(expr)
    if found is None or len(found.spans) > 1:
        return None
    low, high = found.spans[0] if found.spans else (1, 0)
    return Range(ordinal=found.column.ordinal, low=low, high=high)


def _spans(expr: Expr) -> _Spans | None:
    """Give the values that make a condition on one column true; None for other conditions."""
    if not isinstance(expr, Call):
        return None
    if expr.name in ("And", "Or"):
        left, right = (_spans(arg) for arg in expr.args)
        if left is None or right is None or left.column.ordinal != right.column.ordinal:
            return None
        return left.united(right) if expr.name == "Or" else left.common(right)
    if expr.name == "IsNotNull":
        ends = _ends(expr.args[0].type)
        return None if ends is None or not isinstance(expr.args[0], ColumnRef) else _Spans(expr.args[0], (ends,))
    if expr.name == "In":
        return _one_of(expr.args[0], expr.args[1:])
    if expr.name not in _BOUNDS:
        return None
    name, (column, constant) = expr.name, expr.args
    if isinstance(column, Literal):
        name, column, constant = _MIRRORED[name], constant, column
    value = _constant(column, constant)
    ends = _ends(column.type)
    if value is None or ends is None or not isinstance(column, ColumnRef):
        return None
    low, high = _BOUNDS[name](value, *ends)
    return _Spans(column, ((low, high),) if low <= high else ())


def _one_of(column: Expr, items: Sequence[Expr]) -> _Spans | None:
    values = [value for item in items if (value := _constant(column, item)) is not None]
    if not isinstance(column, ColumnRef) or len(values) < len(items):
        return None
    return _Spans(column, ()).united(_Spans(column, tuple((value, value) for value in values)))


def _constant(column: Expr, constant: Expr) -> int | None:
    """Give a constant of the column's type as a whole number; None for others, NULL, and more than 64 bits."""
    ends = _ends(column.type)
    if not isinstance(constant, Literal) or column.type != constant.type or ends is None or constant.value is None:
        return None
    value = unscaled(constant.value, column.type.scale) if column.type.is_decimal else int(constant.value)
    return value if ends[0] <= value <= ends[1] else None


def _ends(kind: DataType) -> _Span | None:
    bits = _BITS.get(kind.kind)
    return None if bits is None else (-(1 << bits - 1), (1 << bits - 1) - 1)


def split_ranges(conjuncts: Sequence[Expr]) -> dict[Range, list[int]]:
    """Give the ranges, one a column, each with the places of the conjuncts that it stands for.

    None for a column that is only tested for NULL: that costs nothing on columns without NULLs.
    """
    found: dict[int, tuple[Range, list[int]]] = {}
    compared: set[int] = set()
    for place, part in enumerate(conjuncts):
        wanted = range_of(part)
        if wanted is None:
            continue
        known, places = found.get(wanted.ordinal, (wanted, []))
        found[wanted.ordinal] = known.within(wanted), [*places, place]
        if not is_null_test(part):
            compared.add(wanted.ordinal)
    return {wanted: places for wanted, places in found.values() if wanted.ordinal in compared}


def is_null_test(expr: Expr) -> bool:
    """Say whether a conjunct is ``IS NOT NULL``."""
    return isinstance(expr, Call) and expr.name == "IsNotNull"
