"""Arrays as sets and lists: distinct elements, unions, intersections, differences, elements side by side, insertions.

Elements are equal as in Spark: NaN equals NaN, −0.0 equals 0.0 and becomes 0.0 in a result, NULL equals NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.cases import ALL_KINDS, ORDERED, case
from pyspark_pipeline.expressions.element_codes import equality_codes, valid_flags, without_signed_zeros
from pyspark_pipeline.expressions.frame import Evaluable, Frame
from pyspark_pipeline.expressions.nested import (
    MOST_ELEMENTS,
    Elements,
    element_bounds,
    list_array,
    plain_array,
)
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, LazyKernel, Value, function
from pyspark_pipeline.expressions.values import numbers, scatter
from pyspark_pipeline.kernels.arrays import BoolArray
from pyspark_pipeline.kernels.chosen_elements import count_chosen
from pyspark_pipeline.kernels.element_places import inserted_places, interleaved_places, padded_places
from pyspark_pipeline.kernels.element_sets import first_places, members
from pyspark_pipeline.kernels.take import take
from pyspark_pipeline.plan.expr import Call, Literal

_PAIR = [case(["array"], ["array"], result=["array"], children={"0": ORDERED, "1": ORDERED})]


@function("ArrayDistinct", [case(["array"], result=["array"], children={"0": ORDERED})])
def _distinct(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the first ones of equal elements."""
    kind = call.type.arrow

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        elements = Elements(plain_array(values[0], rows))
        found = elements.values()
        (codes,) = equality_codes([found])
        kept = first_places(elements.ends, codes, valid_flags(found)) == np.arange(codes.size)
        return _kept(kind, elements, found, kept)

    return Kernel(run=run)


@function("ArrayUnion", _PAIR)
def _union(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the first ones of equal elements of both arrays."""
    kind = call.type.arrow

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        left, right = _both(values, rows)
        parts = [left.values(), right.values()]
        places = interleaved_places(left.ends, right.ends)
        codes = np.concatenate(equality_codes(parts))[places]
        valid = np.concatenate([valid_flags(part) for part in parts])[places]
        ends = left.ends + right.ends
        kept = first_places(ends, codes, valid) == np.arange(codes.size)
        elements = take(pa.concat_arrays(parts), places[kept])
        return list_array(kind, count_chosen(ends, kept), without_signed_zeros(elements), left.valid)

    return Kernel(run=run)


@function("ArrayIntersect", _PAIR)
def _intersect(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the first ones of equal elements that the other array has, too."""
    return _compared(call.type.arrow, is_in_other=True)


@function("ArrayExcept", _PAIR)
def _except(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the first ones of equal elements that the other array does not have."""
    return _compared(call.type.arrow, is_in_other=False)


def _compared(kind: pa.DataType, *, is_in_other: bool) -> Kernel:
    def run(values: Sequence[Value], rows: int) -> pa.Array:
        left, right = _both(values, rows)
        elements, others = left.values(), right.values()
        codes, other_codes = equality_codes([elements, others])
        valid, other_valid = valid_flags(elements), valid_flags(others)
        kept = members(left.ends, codes, valid, right.ends, other_codes, other_valid)
        if not is_in_other:
            kept = ~kept
        kept &= first_places(left.ends, codes, valid) == np.arange(codes.size)
        return _kept(kind, left, elements, kept)

    return Kernel(run=run)


@function("ArraysOverlap", [case(["array"], ["array"], children={"0": ORDERED, "1": ORDERED})])
def _overlap(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return whether both have an equal element but NULL; NULL if not, neither is empty and one has a NULL."""

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        left, right = _both(values, rows)
        elements, others = left.values(), right.values()
        codes, other_codes = equality_codes([elements, others])
        valid, other_valid = valid_flags(elements), valid_flags(others)
        found = members(left.ends, codes, valid, right.ends, other_codes, other_valid) & valid
        overlaps = left.has(found)
        are_filled = (left.counts > 0) & (right.counts > 0)
        unknown = are_filled & ~overlaps & (left.has(~valid) | right.has(~other_valid))
        return pa.array(overlaps, mask=unknown | ~left.valid)

    return Kernel(run=run)


def _both(values: Sequence[Value], rows: int) -> tuple[Elements, Elements]:
    """Return the elements of two arrays; rows in which one is NULL have none."""
    left, right = plain_array(values[0], rows), plain_array(values[1], rows)
    valid = np.asarray(pc.and_(left.is_valid(), right.is_valid()))
    return Elements(left, valid), Elements(right, valid)


def _kept(kind: pa.DataType, elements: Elements, values: pa.Array, kept: BoolArray) -> pa.Array:
    """Return the arrays of the elements that are kept; ``values`` are all of them."""
    chosen = values if kept.all() else values.filter(pa.array(kept))
    return list_array(kind, elements.counts_of(kept), without_signed_zeros(chosen), elements.valid)


@function("ArraysZip", [case(["array"], variadic=True, result=["array"])])
def _zip(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return structs of the elements at the same position; shorter arrays end in NULLs."""
    kind = call.type.arrow

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        arrays = [plain_array(value, rows) for value in values]
        valid = np.all([np.asarray(array.is_valid()) for array in arrays], axis=0)
        bounds = [element_bounds(array) for array in arrays]
        counts = np.where(valid, np.max([lengths for _, lengths in bounds], axis=0), 0)
        columns = [
            take(array.values, padded_places(*bound, counts), with_missing=True)
            for array, bound in zip(arrays, bounds, strict=True)
        ]
        return list_array(kind, counts, pa.StructArray.from_arrays(columns, fields=list(kind.value_type)), valid)

    return Kernel(run=run)


@function("ArrayInsert", [
    case(["array"], ["int"], ALL_KINDS, result=["array"], fields={"legacyNegativeIndex": ["false"]}),
])  # fmt: skip
def _insert(call: Call, settings: ExpressionSettings) -> LazyKernel:
    """Insert an element at a position, from 1 or, if negative, from the end; positions between them become NULL."""
    kind, is_constant = call.type.arrow, isinstance(call.args[1], Literal)

    def run(frame: Frame, args: Sequence[Evaluable]) -> pa.Array:
        rows = frame.num_rows
        array = plain_array(frame.value(args[0]), rows)
        wanted = _value_where(frame, args[1], array.is_valid())
        known = pc.and_(array.is_valid(), wanted.is_valid())
        items = _value_where(frame, args[2], known)
        valid = np.asarray(known)
        index: Any = numbers(wanted).astype(np.int64)
        if (valid & (index == 0)).any():
            raise conditions.index_of_zero(call.context)
        firsts, counts = element_bounds(array)
        counts = np.where(valid, counts, 0)
        lengths = np.where(valid, np.maximum(counts + 1, np.abs(index)), 0)
        if lengths.max(initial=0) > MOST_ELEMENTS:
            longest = int(np.argmax(lengths))
            of_function = is_constant or index[longest] < 0
            raise conditions.array_too_long(
                int(lengths[longest]), MOST_ELEMENTS, "array_insert", "" if of_function else "count"
            )
        at = np.where(index > 0, index - 1, np.where(-index > counts, -1, counts + 1 + index))
        places = inserted_places(firsts, counts, lengths, at, len(array.values))
        elements = take(pa.concat_arrays([array.values, items]), places, with_missing=True)
        return list_array(kind, lengths, elements, valid)

    return LazyKernel(run=run, can_raise=True)


def _value_where(frame: Frame, node: Evaluable, chosen: pa.BooleanArray) -> pa.Array:
    """Return the value of an argument, which is not evaluated for other rows than the chosen ones if it can raise."""
    if not node.can_raise or chosen.true_count == frame.num_rows:
        return plain_array(frame.value(node), frame.num_rows)
    subset = frame.subset(chosen)
    if not subset.num_rows:
        return pa.nulls(frame.num_rows, node.type.arrow)
    return scatter(plain_array(subset.value(node), subset.num_rows), chosen)
