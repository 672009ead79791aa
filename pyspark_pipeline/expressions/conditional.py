"""CASE, IF, COALESCE and similar functions: a branch is evaluated only for the rows that take it.

If no branch can raise, all branches are evaluated for all rows and then selected, which is faster and has the
same result. If one can raise, branches are evaluated on the subset of rows that take them.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes.types import NESTED_KINDS
from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.frame import Evaluable, Frame
from pyspark_pipeline.expressions.registry import (
    ALL_KINDS,
    FLOATING,
    KINDS,
    ExpressionSettings,
    Kernel,
    LazyKernel,
    Value,
    case,
    function,
)
from pyspark_pipeline.expressions.values import decode, keep, scatter, set_null, to_array, truth
from pyspark_pipeline.plan.expr import Call

_ANY = [case(KINDS, variadic=True), case(ALL_KINDS, variadic=True, result=NESTED_KINDS)]


def choose(
    frame: Frame, branches: Sequence[tuple[Evaluable, Evaluable]], otherwise: Evaluable | None, null: pa.Scalar
) -> Value:
    """Return for every row the value of the first branch whose condition is true."""
    conditions_raise = any(condition.can_raise for condition, _ in branches[1:])
    values_raise = any(value.can_raise for _, value in branches) or (otherwise is not None and otherwise.can_raise)
    if conditions_raise or values_raise:
        return _choose_lazily(frame, branches, otherwise, null)
    result = null if otherwise is None else decode(frame.value(otherwise))
    for condition, value in reversed(branches):
        mask = frame.value(condition)
        if isinstance(mask, pa.Scalar):
            result = decode(frame.value(value)) if mask.as_py() is True else result
        else:
            result = _if_else(truth(mask, frame.num_rows), decode(frame.value(value)), result)
    return result


def _if_else(mask: pa.BooleanArray, value: Value, otherwise: Value) -> Value:
    if isinstance(otherwise, pa.Scalar) and not otherwise.is_valid:
        return keep(value, mask)
    return pc.if_else(mask, value, otherwise)


def _choose_lazily(
    frame: Frame, branches: Sequence[tuple[Evaluable, Evaluable]], otherwise: Evaluable | None, null: pa.Scalar
) -> Value:
    rows = frame.num_rows
    undecided = pa.repeat(pa.scalar(True), rows)
    result: Value = pa.repeat(null, rows)
    for condition, value in branches:
        subset = frame.subset(undecided)
        if subset.num_rows == 0:
            return result
        chosen = pc.fill_null(scatter(truth(subset.value(condition), subset.num_rows), undecided), False)
        result = _fill(frame, chosen, value, result)
        undecided = pc.and_(undecided, pc.invert(chosen))
    return result if otherwise is None else _fill(frame, undecided, otherwise, result)


def _fill(frame: Frame, mask: pa.BooleanArray, value: Evaluable, result: Value) -> Value:
    """Return ``result`` with the rows of ``mask`` replaced by ``value``, which is evaluated for those rows only."""
    subset = frame.subset(mask)
    if subset.num_rows == 0:
        return result
    part = decode(to_array(subset.value(value), subset.num_rows))
    return pc.if_else(mask, scatter(part, mask), result)


@function("CaseWhen", _ANY)
def _case_when(call: Call, settings: ExpressionSettings) -> LazyKernel:
    null = pa.scalar(None, call.type.arrow)

    def run(frame: Frame, args: Sequence[Evaluable]) -> Value:
        branches = [(args[index], args[index + 1]) for index in range(0, len(args) - 1, 2)]
        return choose(frame, branches, args[-1] if len(args) % 2 else None, null)

    return LazyKernel(run=run)


@function("If", [case(["boolean"], KINDS, KINDS), case(["boolean"], NESTED_KINDS, NESTED_KINDS, result=NESTED_KINDS)])
def _if(call: Call, settings: ExpressionSettings) -> LazyKernel:
    null = pa.scalar(None, call.type.arrow)
    return LazyKernel(run=lambda frame, args: choose(frame, [(args[0], args[1])], args[2], null))


@function("Coalesce", _ANY)
def _coalesce(call: Call, settings: ExpressionSettings) -> LazyKernel:
    def run(frame: Frame, args: Sequence[Evaluable]) -> Value:
        result = decode(to_array(frame.value(args[0]), frame.num_rows))
        for arg in args[1:]:
            if result.null_count == 0:
                return result
            if arg.can_raise:
                result = _fill(frame, result.is_null(), arg, result)
            else:
                result = pc.coalesce(result, decode(frame.value(arg)))
        return result

    return LazyKernel(run=run)


@function("Elt", [case(["int"], ["string"], variadic=True), case(["int"], ["binary"], variadic=True)])
def _elt(call: Call, settings: ExpressionSettings) -> LazyKernel:
    """Return the argument of a number, from 1; NULL outside the arguments, or an error in ANSI mode."""
    null = pa.scalar(None, call.type.arrow)
    fails = bool(call.fields["failOnError"])

    def run(frame: Frame, args: Sequence[Evaluable]) -> Value:
        index = to_array(frame.value(args[0]), frame.num_rows)
        is_wrong = pc.or_(pc.less(index, 1), pc.greater(index, len(args) - 1))
        if fails and pc.any(is_wrong).as_py():
            raise conditions.index_out_of_range(index.filter(is_wrong)[0].as_py(), len(args) - 1, call.context)
        if not any(arg.can_raise for arg in args[1:]):
            known = set_null(pc.subtract(index, 1), is_wrong)
            return pc.choose(known, *(decode(frame.value(arg)) for arg in args[1:]))
        result: Value = pa.repeat(null, frame.num_rows)
        for number, arg in enumerate(args[1:], 1):
            result = _fill(frame, pc.fill_null(pc.equal(index, number), False), arg, result)
        return result

    return LazyKernel(run=run, can_raise=fails)


@function("NaNvl", [case(FLOATING, FLOATING, same_type=True)])
def _nanvl(call: Call, settings: ExpressionSettings) -> LazyKernel:
    def run(frame: Frame, args: Sequence[Evaluable]) -> Value:
        first = to_array(frame.value(args[0]), frame.num_rows)
        is_nan = pc.fill_null(pc.is_nan(first), False)
        return _fill(frame, is_nan, args[1], first) if is_nan.true_count else first

    return LazyKernel(run=run)


@function("AtLeastNNonNulls", _ANY)
def _at_least_n_non_nulls(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return true if at least ``n`` arguments are neither NULL nor NaN."""
    needed = int(call.fields["n"])

    def run(values: Sequence[Value], rows: int) -> Value:
        total: Value = pa.repeat(pa.scalar(0, pa.int32()), rows)
        for value, arg in zip(values, call.args, strict=True):
            array = to_array(value, rows)
            present = array.is_valid()
            if arg.type.is_floating:
                present = pc.and_(present, pc.invert(pc.fill_null(pc.is_nan(array), False)))
            total = pc.add(total, present.cast(pa.int32()))
        return pc.greater_equal(total, pa.scalar(needed, pa.int32()))

    return Kernel(run=run, null_intolerant=False)
