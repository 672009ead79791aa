"""Three-valued AND, OR and NOT, the tests for NULL and NaN, and membership (IN)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.expressions.comparison import equality
from pyspark_pipeline.expressions.frame import Evaluable, Frame
from pyspark_pipeline.expressions.registry import (
    ALL_KINDS,
    FLOATING,
    ORDERED,
    ExpressionSettings,
    Kernel,
    LazyKernel,
    Value,
    case,
    function,
)
from pyspark_pipeline.expressions.values import decode, map_dictionary, scatter, to_array
from pyspark_pipeline.kernels.normalized_key import normalized_keys
from pyspark_pipeline.plan.expr import Call, Literal
from pyspark_pipeline.plan.wire_expr import decode_value

_BOOLEANS = [case(["boolean"], ["boolean"])]


def _connective(decided: bool) -> LazyKernel:
    """Build AND (decided by false) or OR (decided by true).

    If the right side can raise, it is evaluated only on rows that the left side has not decided.
    """
    combine = pc.or_kleene if decided else pc.and_kleene
    stop = pa.scalar(decided)

    def run(frame: Frame, args: Sequence[Evaluable]) -> Value:
        left = frame.value(args[0])
        if isinstance(left, pa.Scalar) and left.as_py() is decided:
            return left
        if not args[1].can_raise:
            return combine(left, frame.value(args[1]))
        undecided = pc.fill_null(pc.not_equal(to_array(left, frame.num_rows), stop), True)
        subset = frame.subset(undecided)
        if subset.num_rows == 0:
            return left
        right = scatter(to_array(subset.value(args[1]), subset.num_rows), undecided)
        return combine(left, right)

    return LazyKernel(run=run)


@function("And", _BOOLEANS)
def _and(call: Call, settings: ExpressionSettings) -> LazyKernel:
    return _connective(decided=False)


@function("Or", _BOOLEANS)
def _or(call: Call, settings: ExpressionSettings) -> LazyKernel:
    return _connective(decided=True)


@function("Not", [case(["boolean"])])
def _not(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: pc.invert(values[0]))


@function("IsNull", [case(ALL_KINDS)])
def _is_null(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: values[0].is_null(), null_intolerant=False)


@function("IsNotNull", [case(ALL_KINDS)])
def _is_not_null(call: Call, settings: ExpressionSettings) -> Kernel:
    def run(values: Sequence[Value], rows: int) -> Value:
        value = values[0]
        if isinstance(value, pa.Array) and not value.null_count:
            return pa.scalar(True)
        return value.is_valid()

    return Kernel(run=run, null_intolerant=False)


@function("IsNaN", [case(FLOATING)])
def _is_nan(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: pc.fill_null(pc.is_nan(values[0]), False), null_intolerant=False)


def _membership(type_: DataType, candidates: Sequence[Any]) -> Kernel:
    """Build ``value IN (constants)``: NULL if the value equals no constant and a constant, or the value, is NULL."""
    has_null = any(candidate is None for candidate in candidates)
    present = [candidate for candidate in candidates if candidate is not None]
    has_nan = any(candidate != candidate for candidate in present)
    # is_in distinguishes -0.0 from 0.0, Spark does not.
    if type_.is_floating and 0.0 in present:
        present += [0.0, -0.0]
    value_set = pa.array(present, type_.arrow)
    if type_.is_nested:
        value_set = normalized_keys(value_set)

    def contains(values: pa.Array) -> pa.Array:
        found = pc.is_in(normalized_keys(values) if type_.is_nested else values, value_set=value_set)
        if has_nan:
            found = pc.or_(found, pc.fill_null(pc.is_nan(values), False))
        if has_null:
            found = pc.if_else(found, found, pa.scalar(None, pa.bool_()))
        if values.null_count:
            found = pc.if_else(values.is_valid(), found, pa.scalar(None, pa.bool_()))
        return found

    def run(values: Sequence[Value], rows: int) -> Value:
        value = values[0]
        if isinstance(value, pa.DictionaryArray):
            return map_dictionary(value, contains) if len(value.dictionary) <= rows else contains(decode(value))
        return contains(value)

    return Kernel(run=run, null_intolerant=False)


@function("In", [
    *(case(kinds, kinds, variadic=True, same_type=True) for kinds in (ORDERED, ["array"], ["struct"])),
])  # fmt: skip
def _in(call: Call, settings: ExpressionSettings) -> Kernel | LazyKernel:
    items = call.args[1:]
    if all(isinstance(item, Literal) for item in items):
        return _membership(call.args[0].type, [item.value for item in items if isinstance(item, Literal)])
    equal = equality(call.args[0].type.kind)

    def run(frame: Frame, args: Sequence[Evaluable]) -> Value:
        """Compare with the items in order; an item that can raise is evaluated only on rows without a match so far."""
        rows = frame.num_rows
        value = decode(to_array(frame.value(args[0]), rows))
        found: Value = pc.if_else(value.is_valid(), pa.scalar(False), pa.scalar(None, pa.bool_()))
        for item in args[1:]:
            if item.can_raise:
                unmatched = pc.and_(value.is_valid(), pc.invert(pc.fill_null(found, False)))
                subset = frame.subset(unmatched)
                if subset.num_rows == 0:
                    break
                other: Value = scatter(decode(to_array(subset.value(item), subset.num_rows)), unmatched)
            else:
                other = decode(frame.value(item))
            found = pc.or_kleene(found, equal(value, other))
        return pc.if_else(value.is_valid(), found, pa.scalar(None, pa.bool_()))

    return LazyKernel(run=run)


@function("InSet", [case(ORDERED), case(["array"]), case(["struct"])])
def _in_set(call: Call, settings: ExpressionSettings) -> Kernel:
    """Build IN over the field ``hset``, which lists the values in the wire form of literals."""
    type_ = call.args[0].type
    return _membership(type_, [decode_value(item, type_) for item in call.fields["hset"]])
