"""Functions with a lambda over the elements of arrays or the entries of maps: ``transform``, ``filter``, ``aggregate``.

A lambda is evaluated once for the elements of all rows: on a frame of elements, whose columns are those of the rows
that own them, and whose variables are the elements. If it raises for an element, the error is that of the first one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.expressions.cases import ALL_KINDS, case
from pyspark_pipeline.expressions.failures import first_failure
from pyspark_pipeline.expressions.frame import Evaluable, Frame
from pyspark_pipeline.expressions.nested import Elements, element_bounds, list_array, map_pairs, plain_array
from pyspark_pipeline.expressions.registry import ExpressionSettings, LazyKernel, Value, function
from pyspark_pipeline.expressions.values import flags, truth
from pyspark_pipeline.kernels.arrays import Int64Array
from pyspark_pipeline.kernels.element_places import element_rows, padded_places
from pyspark_pipeline.kernels.take import take
from pyspark_pipeline.plan.expr import Call, ColumnRef


@function("LambdaFunction", [case(ALL_KINDS, variadic=True, result=ALL_KINDS)])
def _lambda(call: Call, settings: ExpressionSettings) -> LazyKernel:
    """Return the value of the body, the first argument, on a frame that has the variables, the others."""
    return LazyKernel(run=lambda frame, args: frame.value(args[0]))


def parameters_of(call: Call, argument: int) -> list[int]:
    """Return the ordinals of the variables of the lambda that is an argument of ``call``."""
    found = call.args[argument]
    assert isinstance(found, Call)
    return [arg.ordinal for arg in found.args[1:] if isinstance(arg, ColumnRef)]


def evaluated(frame: Frame, body: Evaluable, owners: Int64Array, variables: Mapping[int, pa.Array]) -> pa.Array:
    """Return the plain values of a lambda for elements; raise the error of the first element that raises."""

    def evaluate(start: int, stop: int) -> pa.Array:
        rows = owners[start:stop]

        def column(ordinal: int) -> pa.Array:
            variable = variables.get(ordinal)
            return take(frame.column(ordinal), rows) if variable is None else variable.slice(start, stop - start)

        return plain_array(Frame(stop - start, column).value(body), stop - start)

    if not owners.size:
        return pa.nulls(0, body.type.arrow)
    try:
        return evaluate(0, owners.size)
    except SparkConditionError as error:
        raise first_failure(evaluate, owners.size, error) from None


@function("ArrayTransform", [case(["array"], ALL_KINDS, result=["array"])])
def _transform(call: Call, settings: ExpressionSettings) -> LazyKernel:
    """Return the value of the lambda for each element, and perhaps its position."""
    parameters, kind = parameters_of(call, 1), call.type.arrow

    def run(frame: Frame, args: Sequence[Evaluable]) -> Value:
        elements = Elements(plain_array(frame.value(args[0]), frame.num_rows))
        made = evaluated(frame, args[1], elements.owners, _of_element(parameters, elements))
        return list_array(kind, elements.counts, made, elements.valid)

    return LazyKernel(run=run)


def _of_element(parameters: Sequence[int], elements: Elements) -> dict[int, pa.Array]:
    variables = {parameters[0]: elements.values()}
    if len(parameters) > 1:
        variables[parameters[1]] = pa.array(elements.positions())
    return variables


@function("ArrayFilter", [case(["array"], ["boolean"], result=["array"])])
def _filter(call: Call, settings: ExpressionSettings) -> LazyKernel:
    """Return the elements for which the lambda is true."""
    parameters, kind = parameters_of(call, 1), call.type.arrow

    def run(frame: Frame, args: Sequence[Evaluable]) -> Value:
        elements = Elements(plain_array(frame.value(args[0]), frame.num_rows))
        variables = _of_element(parameters, elements)
        kept = truth(evaluated(frame, args[1], elements.owners, variables), elements.total)
        counts = elements.counts_of(flags(kept))
        return list_array(kind, counts, variables[parameters[0]].filter(kept), elements.valid)

    return LazyKernel(run=run)


@function("MapFilter", [case(["map"], ["boolean"], result=["map"])])
def _filter_map(call: Call, settings: ExpressionSettings) -> LazyKernel:
    """Return the entries for which the lambda is true."""
    parameters, kind = parameters_of(call, 1), call.type.arrow

    def run(frame: Frame, args: Sequence[Evaluable]) -> Value:
        elements = Elements(plain_array(frame.value(args[0]), frame.num_rows))
        entries = elements.keys_and_items()
        found = evaluated(frame, args[1], elements.owners, dict(zip(parameters, entries, strict=True)))
        kept = truth(found, elements.total)
        counts = elements.counts_of(flags(kept))
        return list_array(kind, counts, map_pairs(kind, [part.filter(kept) for part in entries]), elements.valid)

    return LazyKernel(run=run)


@function("TransformValues", [case(["map"], ALL_KINDS, result=["map"])])
def _transform_values(call: Call, settings: ExpressionSettings) -> LazyKernel:
    """Return the entries with the values that the lambda returns for them."""
    parameters, kind = parameters_of(call, 1), call.type.arrow

    def run(frame: Frame, args: Sequence[Evaluable]) -> Value:
        elements = Elements(plain_array(frame.value(args[0]), frame.num_rows))
        entries = elements.keys_and_items()
        made = evaluated(frame, args[1], elements.owners, dict(zip(parameters, entries, strict=True)))
        return list_array(kind, elements.counts, map_pairs(kind, [entries[0], made]), elements.valid)

    return LazyKernel(run=run)


@function("ArrayExists", [case(["array"], ["boolean"])])
def _exists(call: Call, settings: ExpressionSettings) -> LazyKernel:
    """Return whether the lambda is true for an element; else, if it is NULL for one, NULL or false."""
    return _quantifier(call, decided=True, has_unknown=bool(call.fields["followThreeValuedLogic"]))


@function("ArrayForAll", [case(["array"], ["boolean"])])
def _for_all(call: Call, settings: ExpressionSettings) -> LazyKernel:
    """Return whether the lambda is true for all elements; NULL if it is NULL for one and false for none."""
    return _quantifier(call, decided=False, has_unknown=True)


def _quantifier(call: Call, *, decided: bool, has_unknown: bool) -> LazyKernel:
    """Build the kernel that returns ``decided`` if the lambda does for an element, which ends a row's evaluation."""
    parameters = parameters_of(call, 1)

    def run(frame: Frame, args: Sequence[Evaluable]) -> Value:
        elements = Elements(plain_array(frame.value(args[0]), frame.num_rows))
        variables = _of_element(parameters, elements)
        if args[1].can_raise:
            found = _until_decided(frame, args[1], elements, variables, decided)
        else:
            found = evaluated(frame, args[1], elements.owners, variables)
        hits = found if decided else pc.invert(found)
        is_decided = elements.has(flags(pc.fill_null(hits, False)))
        unknown = ~elements.valid
        if has_unknown and found.null_count:
            unknown = unknown | (~is_decided & elements.has(flags(found.is_null())))
        return pa.array(is_decided if decided else ~is_decided, mask=unknown)

    return LazyKernel(run=run)


def _until_decided(
    frame: Frame, body: Evaluable, elements: Elements, variables: Mapping[int, pa.Array], decided: bool
) -> pa.Array:
    """Return the values of a lambda, position by position, only for rows that no element before has decided.

    The other elements have the value that decides nothing.
    """
    values = np.full(elements.total, not decided)
    nulls = np.zeros(elements.total, dtype=np.bool_)
    positions = elements.positions()
    is_open = np.ones(frame.num_rows, dtype=np.bool_)
    for position in range(int(elements.counts.max(initial=0))):
        chosen = np.flatnonzero((positions == position) & is_open[elements.owners])
        part = {ordinal: take(variable, chosen) for ordinal, variable in variables.items()}
        found = evaluated(frame, body, elements.owners[chosen], part)
        nulls[chosen] = np.asarray(found.is_null())
        values[chosen] = np.asarray(pc.fill_null(found, not decided))
        is_open[elements.owners[chosen[values[chosen] == decided]]] = False
    return pa.array(values, mask=nulls)


@function("ArrayAggregate", [case(["array"], ALL_KINDS, ALL_KINDS, ALL_KINDS, result=ALL_KINDS)])
def _aggregate(call: Call, settings: ExpressionSettings) -> LazyKernel:
    """Fold the elements of each array, one position of all arrays after the other; then call the last lambda."""
    (folded, element), (result,) = parameters_of(call, 2), parameters_of(call, 3)

    def run(frame: Frame, args: Sequence[Evaluable]) -> Value:
        elements = Elements(plain_array(frame.value(args[0]), frame.num_rows))
        held = np.flatnonzero(elements.valid)
        states = plain_array(frame.value(args[1]), frame.num_rows)
        values, firsts = elements.values(), elements.ends[:-1]
        for position in range(int(elements.counts.max(initial=0))):
            rows = np.flatnonzero(elements.counts > position)
            variables = {folded: take(states, rows), element: take(values, firsts[rows] + position)}
            made = evaluated(frame, args[2], rows, variables)
            places = np.arange(frame.num_rows)
            places[rows] = frame.num_rows + np.arange(rows.size)
            states = take(pa.concat_arrays([states, made]), places)
        made = evaluated(frame, args[3], held, {result: take(states, held)})
        at = np.full(frame.num_rows, -1, dtype=np.int64)
        at[held] = np.arange(held.size)
        return take(made, at, with_missing=True)

    return LazyKernel(run=run)


@function("ZipWith", [case(["array"], ["array"], ALL_KINDS, result=["array"])])
def _zip_with(call: Call, settings: ExpressionSettings) -> LazyKernel:
    """Return the value of the lambda for each pair of elements; the shorter array ends in NULLs."""
    parameters, kind = parameters_of(call, 2), call.type.arrow

    def run(frame: Frame, args: Sequence[Evaluable]) -> Value:
        arrays = [plain_array(frame.value(arg), frame.num_rows) for arg in args[:2]]
        valid = np.asarray(pc.and_(arrays[0].is_valid(), arrays[1].is_valid()))
        bounds = [element_bounds(array) for array in arrays]
        counts = np.where(valid, np.maximum(bounds[0][1], bounds[1][1]), 0)
        owners = element_rows(counts)
        variables = {
            ordinal: take(array.values, padded_places(*bound, counts), with_missing=True)
            for ordinal, array, bound in zip(parameters, arrays, bounds, strict=True)
        }
        made = evaluated(frame, args[2], owners, variables)
        return list_array(kind, counts, made, valid)

    return LazyKernel(run=run)
