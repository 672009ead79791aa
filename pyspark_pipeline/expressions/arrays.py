"""Functions that make arrays of others, of maps and of numbers: slices, concatenations, sorted elements, sequences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.cases import ALL_KINDS, FLOATING, INTEGRAL, KINDS, ORDERED, case
from pyspark_pipeline.expressions.element_codes import order_keys, valid_flags
from pyspark_pipeline.expressions.nested import (
    MOST_ELEMENTS,
    Elements,
    element_bounds,
    equal_values,
    list_array,
    plain_array,
)
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, function
from pyspark_pipeline.expressions.values import flags, numbers, to_array
from pyspark_pipeline.kernels.arrays import Array, BoolArray, Int64Array
from pyspark_pipeline.kernels.buffers import with_elements
from pyspark_pipeline.kernels.element_order import least_places, sorted_places
from pyspark_pipeline.kernels.element_places import (
    element_positions,
    element_rows,
    range_places,
    reversed_places,
)
from pyspark_pipeline.kernels.take import take
from pyspark_pipeline.plan.expr import Call, constants

_NESTED = ("array", "struct")
_NOT_FLOATING = (*(kind for kind in ORDERED if kind not in FLOATING), *_NESTED)
#: Arrays of ordered elements.
_OF_ORDERED = [case(["array"], children={"0": ORDERED}), case(["array"], children={"0": _NESTED}, result=_NESTED)]
#: More elements of several rows are made of fewer rows at a time.
_MANY_ELEMENTS = 1 << 24


@function("Flatten", [case(["array"], result=["array"])])
def _flatten(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the elements of the arrays of an array; NULL if one of these is NULL."""
    kind = call.type.arrow

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        outer = Elements(plain_array(values[0], rows))
        arrays, valid = outer.values(), outer.valid
        present = flags(arrays.is_valid())
        if not present.all():
            valid = valid & ~outer.has(~present)
            present = valid[outer.owners]
        inner = Elements(arrays, present)
        return list_array(kind, np.diff(inner.ends[outer.ends]), inner.values(), valid)

    return Kernel(run=run)


@function("Concat", [case(["array"], variadic=True, same_type=True, result=["array"])])
def _concat(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the elements of all arguments; NULL if one of these is NULL."""
    kind, width = call.type.arrow, len(call.args)

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        arrays = [plain_array(value, rows) for value in values]
        valid = np.all([np.asarray(array.is_valid()) for array in arrays], axis=0)
        starts, counts, before = np.zeros((rows, width), np.int64), np.zeros((rows, width), np.int64), 0
        for place, array in enumerate(arrays):
            firsts, lengths = element_bounds(array)
            starts[:, place], counts[:, place] = firsts + before, np.where(valid, lengths, 0)
            before += len(array.values)
        elements = pa.concat_arrays([array.values for array in arrays])
        places = range_places(starts.ravel(), counts.ravel())
        return list_array(kind, counts.sum(axis=1), take(elements, places), valid)

    return Kernel(run=run)


@function("Reverse", [case(["array"], result=["array"])])
def _reverse(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the elements from the last to the first."""
    kind = call.type.arrow

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        array = plain_array(values[0], rows)
        firsts, counts = element_bounds(array)
        places = reversed_places(firsts, counts)
        return list_array(kind, counts, take(array.values, places), np.asarray(array.is_valid()))

    return Kernel(run=run)


@function("Slice", [case(["array"], ["int"], ["int"], result=["array"])])
def _slice(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return so many elements from a number on, from 1 or, if negative, from the end."""
    kind, known = call.type.arrow, constants(call.args[1:])
    is_within = len(known) == 2 and known[0] != 0 and (known[1] is None or known[1] >= 0)

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        array, *bounds = (plain_array(value, rows) for value in values)
        valid = np.all([np.asarray(each.is_valid()) for each in (array, *bounds)], axis=0)
        starts, lengths = (_integers(bound) for bound in bounds)
        _check_slice(starts, lengths, valid)
        firsts, counts = element_bounds(array)
        begins = np.where(starts < 0, counts + starts, starts - 1)
        kept = np.where(valid & (begins >= 0), np.clip(counts - begins, 0, np.maximum(lengths, 0)), 0)
        elements = take(array.values, range_places(firsts + begins, kept))
        return list_array(kind, kept, elements, valid)

    return Kernel(run=run, can_raise=not is_within)


def _check_slice(starts: Int64Array, lengths: Int64Array, valid: BoolArray) -> None:
    """Raise the error of the first valid row that begins with the element 0 or has a negative length."""
    wrong = valid & ((starts == 0) | (lengths < 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise conditions.slice_start() if starts[row] == 0 else conditions.slice_length(int(lengths[row]))


@function("ArrayPosition", [case(["array"], KINDS)])
def _position(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the number of the first equal element, from 1; 0 if there is none."""

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        elements, wanted = Elements(plain_array(values[0], rows)), to_array(values[1], rows)
        found = elements.first(equal_values(elements.values(), elements.repeated(values[1])))
        positions = np.where(found >= 0, found - elements.ends[:-1] + 1, 0)
        return pa.array(positions, mask=~(elements.valid & flags(wanted.is_valid())))

    return Kernel(run=run)


@function("ArrayRemove", [case(["array"], KINDS, result=["array"])])
def _remove(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the elements that do not equal a value; NULLs stay."""
    kind = call.type.arrow

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        elements, wanted = Elements(plain_array(values[0], rows)), to_array(values[1], rows)
        valid = elements.valid & flags(wanted.is_valid())
        members = elements.values()
        kept = ~equal_values(members, elements.repeated(values[1])) & np.repeat(valid, elements.counts)
        return list_array(kind, elements.counts_of(kept), members.filter(pa.array(kept)), valid)

    return Kernel(run=run)


@function("ArrayJoin", [case(["array"], ["string"]), case(["array"], ["string"], ["string"])])
def _join(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the texts of an array with a delimiter between them; NULLs are left out, or replaced by a text."""

    def run(values: Sequence[Value], rows: int) -> Value:
        elements = Elements(plain_array(values[0], rows))
        texts, valid = elements.values(), elements.valid
        if len(values) > 2:
            valid = valid & flags(to_array(values[2], rows).is_valid())
            texts = pc.coalesce(texts, elements.repeated(values[2]))
        kept = flags(texts.is_valid())
        joined = list_array(elements.array.type, elements.counts_of(kept), texts.filter(pa.array(kept)), valid)
        return pc.binary_join(joined, plain_array(values[1], rows))

    return Kernel(run=run)


@function("MapEntries", [case(["map"], result=["array"])])
def _entries(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the entries of a map as structs."""
    kind = call.type.arrow

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        entries = plain_array(values[0], rows)
        pairs = pa.StructArray.from_arrays([entries.keys, entries.items], fields=list(kind.value_type))
        return with_elements(entries, kind, pairs)

    return Kernel(run=run)


@function("SortArray", [
    case(["array"], ["boolean"], literal=[1], result=["array"], children={"0": _NOT_FLOATING}),
    case(["array"], ["boolean"], matches={"1": "false"}, result=["array"], children={"0": FLOATING}),
    # Spark sorts the elements of a type without NULL, but not inside lambdas, with -0.0 before 0.0.
    case(["array"], ["boolean"], matches={"1": "true"}, nullable_elements=[0], result=["array"],
         children={"0": FLOATING}),
])  # fmt: skip
def _sort(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the elements in ascending order, NULLs first, or in descending order, NULLs last."""
    (is_ascending,) = constants(call.args[1:])
    return _sorted(call.type.arrow, is_ascending=bool(is_ascending), nulls_first=bool(is_ascending))


def _sorted(kind: pa.DataType, *, is_ascending: bool, nulls_first: bool) -> Kernel:
    def run(values: Sequence[Value], rows: int) -> pa.Array:
        elements = Elements(plain_array(values[0], rows))
        found = elements.values()
        keys = order_keys(found)
        places = sorted_places(
            elements.ends, keys if is_ascending else ~keys, valid_flags(found), nulls_first=nulls_first
        )
        return list_array(kind, elements.counts, take(found, places), elements.valid)

    return Kernel(run=run)


@function("ArrayMin", _OF_ORDERED)
def _min(call: Call, settings: ExpressionSettings) -> Kernel:
    return _extreme(is_least=True)


@function("ArrayMax", _OF_ORDERED)
def _max(call: Call, settings: ExpressionSettings) -> Kernel:
    return _extreme(is_least=False)


def _extreme(*, is_least: bool) -> Kernel:
    """Build the kernel that returns the first of the least or greatest elements; NULL if there is none but NULLs."""

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        elements = Elements(plain_array(values[0], rows))
        found = elements.values()
        keys = order_keys(found)
        at = least_places(elements.ends, keys if is_least else ~keys, valid_flags(found))
        return take(found, at, with_missing=True)

    return Kernel(run=run)


@function("ArrayRepeat", [case(ALL_KINDS, ["int"], result=["array"])])
def _repeat(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return an array of so many equal elements, of none if the number is negative."""
    kind = call.type.arrow

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        elements, wanted = plain_array(values[0], rows), plain_array(values[1], rows)
        valid = np.asarray(wanted.is_valid())
        counts = np.where(valid, np.maximum(_integers(wanted), 0), 0)
        _check_lengths(counts, "array_repeat", "count")
        return list_array(kind, counts, take(elements, element_rows(counts)), valid)

    return Kernel(run=run, can_raise=True, null_intolerant=False)


@function("Sequence", [
    *(case([kind], [kind], result=["array"]) for kind in (*INTEGRAL, "date")),
    *(case([kind], [kind], [kind], result=["array"]) for kind in INTEGRAL),
])  # fmt: skip
def _sequence(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the integers or dates from one to another, in steps of 1 or −1, or of integers that lead to the other."""
    kind = call.type.arrow

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        arrays = [plain_array(value, rows) for value in values]
        valid = np.all([np.asarray(array.is_valid()) for array in arrays], axis=0)
        start, stop = _integers(arrays[0]), _integers(arrays[1])
        step = np.where(start <= stop, 1, -1) if len(arrays) < 3 else _integers(arrays[2])
        counts = sequence_lengths(start, stop, step, step, valid)
        owners, numbers = sequence_places(counts)
        return list_array(kind, counts, _of_integers(start[owners] + step[owners] * numbers, kind.value_type), valid)

    return Kernel(run=run, can_raise=True)


def sequence_lengths(
    start: Int64Array, stop: Int64Array, step: Int64Array, shown: Int64Array, valid: BoolArray
) -> Int64Array:
    """Return the lengths of sequences of integers, 0 of those that are not valid; all are of shape (rows,).

    Raise Spark's error for a step that does not lead to the end, which shows the step as ``shown``, and for an array
    beyond the longest.
    """
    leads = (start == stop) | ((step > 0) & (start < stop)) | ((step < 0) & (start > stop))
    if not leads[valid].all():
        row = int(np.argmax(valid & ~leads))
        raise conditions.illegal_sequence(int(start[row]), int(stop[row]), int(shown[row]))
    is_up = start <= stop
    distance = np.where(is_up, stop, start).astype(np.uint64) - np.where(is_up, start, stop).astype(np.uint64)
    width = np.where(step < 0, -step.astype(np.uint64), step.astype(np.uint64))
    steps = distance // np.maximum(width, np.uint64(1))
    counts = np.where(valid, steps, 0).astype(np.float64) + valid
    _check_lengths(counts, "sequence", "count")
    whole: Int64Array = counts.astype(np.int64)
    return whole


def sequence_places(counts: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the row of each element of sequences of ``counts`` elements, and its number in the row, from 0."""
    return element_rows(counts), element_positions(counts)


def _of_integers(values: Int64Array, kind: pa.DataType) -> pa.Array:
    return pa.array(values).cast(pa.int32()).cast(kind) if pa.types.is_date32(kind) else pa.array(values).cast(kind)


def _integers(array: pa.Array) -> Int64Array:
    found: Int64Array = numbers(array).astype(np.int64)
    return found


def _check_lengths(counts: Array, name: str, parameter: str) -> None:
    """Raise Spark's error for an array beyond its longest; let fewer rows be computed at a time if they are many."""
    longest = counts.max(initial=0)
    if longest > MOST_ELEMENTS:
        raise conditions.array_too_long(int(longest), MOST_ELEMENTS, name, parameter)
    if counts.size > 1 and counts.sum() > _MANY_ELEMENTS:
        raise pa.ArrowCapacityError(f"{name} makes {counts.sum()} elements of {counts.size} rows")
