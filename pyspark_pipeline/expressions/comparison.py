"""Comparisons: NaN equals NaN and is larger than every other number, -0.0 equals 0.0, strings by their bytes.

Spark compares operands of one type (the analyzer casts); UTF8String.compareTo compares unsigned bytes, as
Arrow does for binary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes.types import NESTED_KINDS
from pyspark_pipeline.expressions.cases import DAY_TIME, YEAR_MONTH
from pyspark_pipeline.expressions.registry import (
    ORDERED,
    ExpressionSettings,
    Kernel,
    Value,
    case,
    function,
)
from pyspark_pipeline.expressions.values import decode, is_valid, to_array
from pyspark_pipeline.kernels.normalized_key import normalized_keys
from pyspark_pipeline.plan.expr import Call

Compare = Callable[[Value, Value], Value]

_CASES = [
    case(ORDERED, ORDERED, same_type=True),
    case([DAY_TIME], [DAY_TIME]),
    case([YEAR_MONTH], [YEAR_MONTH]),
    case(["array"], ["array"], same_type=True),
    case(["struct"], ["struct"], same_type=True),
]


_EXTREME_CASES = [
    case(ORDERED, ORDERED, variadic=True, same_type=True),
    *(case([kind], [kind], variadic=True, same_type=True, result=[kind]) for kind in ("array", "struct")),
]


def _has_nan(value: Value) -> bool:
    if isinstance(value, pa.Scalar):
        return bool(value.is_valid and value.as_py() != value.as_py())
    return pc.any(pc.is_nan(value)).as_py() is True


def _float_equal(left: Value, right: Value) -> Value:
    result = pc.equal(left, right)
    if _has_nan(left) and _has_nan(right):
        return pc.or_kleene(result, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    return result


def _float_less(left: Value, right: Value) -> Value:
    result = pc.less(left, right)
    if _has_nan(right):
        return pc.or_(result, pc.and_(pc.is_nan(right), pc.invert(pc.is_nan(left))))
    return result


def _as_bytes(compare: Compare) -> Compare:
    """Compare booleans as 0 and 1, because Arrow does not order them."""
    return lambda left, right: compare(left.cast(pa.uint8()), right.cast(pa.uint8()))


def _by_keys(compare: Compare) -> Compare:
    """Compare nested values by their normalized keys."""
    return lambda left, right: compare(_key(left), _key(right))


def _key(value: Value) -> Value:
    return normalized_keys(to_array(value, 1))[0] if isinstance(value, pa.Scalar) else normalized_keys(value)


def equality(kind: str) -> Compare:
    """Return the = operator of a kind: NULL if an operand is NULL."""
    if kind in NESTED_KINDS:
        return _by_keys(pc.equal)
    return _float_equal if kind in ("float", "double") else pc.equal


def less(kind: str) -> Compare:
    """Return the < operator of a kind: NULL if an operand is NULL."""
    if kind in ("float", "double"):
        return _float_less
    if kind in NESTED_KINDS:
        return _by_keys(pc.less)
    return _as_bytes(pc.less) if kind == "boolean" else pc.less


def less_or_equal(kind: str) -> Compare:
    """Return the <= operator of a kind: NULL if an operand is NULL."""
    if kind in ("float", "double"):
        return lambda left, right: pc.invert(_float_less(right, left))
    if kind in NESTED_KINDS:
        return _by_keys(pc.less_equal)
    return _as_bytes(pc.less_equal) if kind == "boolean" else pc.less_equal


def _kernel(compare: Compare) -> Kernel:
    return Kernel(run=lambda values, rows: compare(values[0], values[1]), by_dictionary=True)


@function("EqualTo", _CASES)
def _equal(call: Call, settings: ExpressionSettings) -> Kernel:
    return _kernel(equality(call.args[0].type.kind))


for _name in ("EqualTo", "LessThan", "GreaterThan", "LessThanOrEqual", "GreaterThanOrEqual"):

    @function(_name, [case(["void"], ["void"])])
    def _unknown(call: Call, settings: ExpressionSettings) -> Kernel:
        return Kernel(run=lambda values, rows: pa.scalar(None, pa.bool_()), null_intolerant=False)


@function("EqualNullSafe", [case(["void"], ["void"])])
def _both_null(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: pa.scalar(True), null_intolerant=False)


@function("LessThan", _CASES)
def _less(call: Call, settings: ExpressionSettings) -> Kernel:
    return _kernel(less(call.args[0].type.kind))


@function("GreaterThan", _CASES)
def _greater(call: Call, settings: ExpressionSettings) -> Kernel:
    compare = less(call.args[0].type.kind)
    return _kernel(lambda left, right: compare(right, left))


@function("LessThanOrEqual", _CASES)
def _less_or_equal(call: Call, settings: ExpressionSettings) -> Kernel:
    return _kernel(less_or_equal(call.args[0].type.kind))


@function("GreaterThanOrEqual", _CASES)
def _greater_or_equal(call: Call, settings: ExpressionSettings) -> Kernel:
    compare = less_or_equal(call.args[0].type.kind)
    return _kernel(lambda left, right: compare(right, left))


@function("EqualNullSafe", _CASES)
def _equal_null_safe(call: Call, settings: ExpressionSettings) -> Kernel:
    compare = equality(call.args[0].type.kind)

    def run(values: Sequence[Value], rows: int) -> Value:
        left, right = (decode(value) for value in values)
        both_null = pc.invert(pc.or_(is_valid(left, rows), is_valid(right, rows)))
        equal = to_array(compare(left, right), rows)
        return pc.or_(pc.fill_null(equal, False), both_null)

    return Kernel(run=run, null_intolerant=False)


def _extreme(call: Call, largest: bool) -> Kernel:
    """Build greatest or least: NULLs are skipped, the first of equal values is kept."""
    compare = less(call.type.kind)

    def run(values: Sequence[Value], rows: int) -> Value:
        best = to_array(values[0], rows)
        for value in values[1:]:
            candidate = to_array(value, rows)
            better = compare(best, candidate) if largest else compare(candidate, best)
            # NULL: one side is NULL; use the candidate if there is no best so far.
            better = pc.coalesce(better, pc.invert(best.is_valid()))
            best = pc.if_else(better, candidate, best)
        return best

    return Kernel(run=run, null_intolerant=False)


@function("Greatest", _EXTREME_CASES)
def _greatest(call: Call, settings: ExpressionSettings) -> Kernel:
    return _extreme(call, largest=True)


@function("Least", _EXTREME_CASES)
def _least(call: Call, settings: ExpressionSettings) -> Kernel:
    return _extreme(call, largest=False)
