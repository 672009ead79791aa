"""Arrays, maps and structs: their fields and elements, their sizes, and how they are made of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes.types import NESTED_KINDS
from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.cases import ALL_KINDS, INTEGRAL, KINDS, case
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, function
from pyspark_pipeline.expressions.values import decode, numbers, to_array
from pyspark_pipeline.kernels.buffers import pack_validity, with_elements
from pyspark_pipeline.plan.expr import Call

_FAILS = {"failOnError": ["true", "false"]}
_MOST_ELEMENTS = 2**31 - 1
_SIZED = {"legacySizeOfNull": ["true", "false"]}


@function("CreateNamedStruct", [case(["string"], ALL_KINDS, variadic=True, result=["struct"])])
def _struct(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return a struct of every second argument; the others are the names of the fields."""
    kind = call.type.arrow

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        columns = [decode(to_array(value, rows)) for value in values[1::2]]
        return pa.StructArray.from_arrays(columns, fields=list(kind))

    return Kernel(run=run, null_intolerant=False)


@function("CreateArray", [case(ALL_KINDS, variadic=True, same_type=True, result=["array"])])
def _array(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return an array of the arguments."""
    kind, count = call.type.arrow, len(call.args)

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        columns = [decode(to_array(value, rows)) for value in values]
        places = np.arange(rows * count).reshape(count, rows).T.ravel()
        elements = pa.concat_arrays(columns).take(pa.array(places))
        offsets = np.arange(0, rows * count + 1, count, dtype=np.int32)
        return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(offsets)], 0, children=[elements])

    return Kernel(run=run, null_intolerant=False)


@function("GetStructField", [case(["struct"], result=ALL_KINDS)])
def _struct_field(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return a field; NULL if the struct is NULL."""
    ordinal = int(call.fields["ordinal"])
    return Kernel(run=lambda values, rows: pc.struct_field(values[0], [ordinal]))


@function("GetArrayStructFields", [case(["array"], result=["array"])])
def _array_of_fields(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return a field of each struct of an array."""
    ordinal, kind = int(call.fields["ordinal"]), call.type.arrow

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        array = to_array(values[0], rows)
        return with_elements(array, kind, pc.struct_field(array.values, [ordinal]))

    return Kernel(run=run)


@function("MapKeys", [case(["map"], result=["array"])])
def _keys(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: _part(to_array(values[0], rows), call.type.arrow, "keys"))


@function("MapValues", [case(["map"], result=["array"])])
def _items(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: _part(to_array(values[0], rows), call.type.arrow, "items"))


def _part(entries: pa.MapArray, kind: pa.DataType, name: str) -> pa.Array:
    return with_elements(entries, kind, getattr(entries, name))


@function("Size", [case(["array"], fields=_SIZED), case(["map"], fields=_SIZED)])
def _size(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the number of elements; of NULL −1 or NULL."""
    of_null = -1 if call.fields["legacySizeOfNull"] else None

    def run(values: Sequence[Value], rows: int) -> Value:
        array = to_array(values[0], rows)
        counts = pa.array(np.diff(array.offsets.to_numpy()), pa.int32())
        if not array.null_count:
            return counts
        return pc.if_else(array.is_valid(), counts, pa.scalar(of_null, pa.int32()))

    return Kernel(run=run, null_intolerant=False)


@function("GetArrayItem", [case(["array"], INTEGRAL, fields=_FAILS, result=ALL_KINDS)])
def _item(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the element of a number, from 0; outside the array NULL, or an error in ANSI mode."""
    fails = bool(call.fields["failOnError"])

    def run(values: Sequence[Value], rows: int) -> Value:
        array, wanted = to_array(values[0], rows), to_array(values[1], rows)
        known = np.asarray(pc.and_(array.is_valid(), wanted.is_valid()))
        index: Any = numbers(wanted).astype(np.int32, copy=False)
        ends = array.offsets.to_numpy()
        inside = (index >= 0) & (index < np.diff(ends))
        wrong = known & ~inside
        if fails and wrong.any():
            row = int(np.argmax(wrong))
            raise conditions.index_out_of_range(int(index[row]), int(ends[row + 1] - ends[row]), call.context)
        return array.values.take(pa.array(ends[:-1] + index, mask=~(known & inside)))

    return Kernel(run=run, can_raise=fails)


@function("ElementAt", [case(["array"], ["int"], fields=_FAILS, result=ALL_KINDS)])
def _element_at(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the element of a number, from 1 or, if negative, from the end; outside NULL, or an error in ANSI mode."""
    fails = bool(call.fields["failOnError"])

    def run(values: Sequence[Value], rows: int) -> Value:
        array, wanted = to_array(values[0], rows), to_array(values[1], rows)
        known = np.asarray(pc.and_(array.is_valid(), wanted.is_valid()))
        ends = array.offsets.to_numpy()
        index: Any = numbers(wanted).astype(np.int64)
        at, inside = element_places(index, ends, known, call.context)
        if fails and not inside[known].all():
            row = int(np.argmax(known & ~inside))
            raise conditions.element_out_of_range(int(index[row]), int(ends[row + 1] - ends[row]), call.context)
        return array.values.take(pa.array(at, mask=~(known & inside)))

    return Kernel(run=run, can_raise=True)


def element_places(
    index: npt.NDArray[np.int64], ends: npt.NDArray[np.int32], known: npt.NDArray[np.bool_], context: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the places of elements of arrays, and whether they exist; ``ends`` are the arrays' offsets.

    ``index`` counts from 1 or, if negative, from the end. Raises Spark's error if it is 0, and Java's for the least
    int, in a row that is ``known``.
    """
    counts = np.diff(ends)
    wrong = known & ((index == 0) | (index == -(2**31)))
    if wrong.any():
        row = int(np.argmax(wrong))
        if index[row] == 0:
            raise conditions.index_of_zero(context)
        count = int(counts[row])
        message = f"Index {count - 2**31} out of bounds for length {count}"
        raise conditions.java_error("ArrayIndexOutOfBoundsException", message)
    return np.where(index > 0, ends[:-1] + index - 1, ends[1:] + index), np.abs(index) <= counts


def _map_value(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the value of the first entry with an equal key; NULL if there is none."""

    def run(values: Sequence[Value], rows: int) -> Value:
        entries, wanted = to_array(values[0], rows), decode(to_array(values[1], rows))
        ends = entries.offsets.to_numpy()
        owners, places = element_owners(ends, np.asarray(entries.is_valid()))
        is_equal = equal_values(entries.keys.take(pa.array(places)), wanted.take(pa.array(owners)))
        found = np.flatnonzero(is_equal)
        rows_found, first = np.unique(owners[found], return_index=True)
        at = np.full(rows, -1, dtype=np.int64)
        at[rows_found] = places[found[first]]
        return entries.items.take(pa.array(at, mask=at < 0))

    return Kernel(run=run)


for _name in ("GetMapValue", "ElementAt"):
    function(_name, [case(["map"], KINDS, result=ALL_KINDS)])(_map_value)


@function("ArrayContains", [case(["array"], KINDS)])
def _array_contains(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return whether an element equals a value; NULL if none does and an element is NULL."""

    def run(values: Sequence[Value], rows: int) -> Value:
        array, wanted = to_array(values[0], rows), decode(to_array(values[1], rows))
        ends = array.offsets.to_numpy()
        owners, places = element_owners(ends, np.asarray(array.is_valid()))
        elements = array.values.take(pa.array(places))
        is_found = np.zeros(rows, dtype=np.bool_)
        is_found[owners[equal_values(elements, wanted.take(pa.array(owners)))]] = True
        is_unknown = np.zeros(rows, dtype=np.bool_)
        if elements.null_count:
            is_unknown[owners[np.asarray(elements.is_null())]] = True
        is_unknown &= ~is_found
        is_unknown |= ~np.asarray(pc.and_(array.is_valid(), wanted.is_valid()))
        return pa.array(is_found, mask=is_unknown)

    return Kernel(run=run)


def plain_array(value: Value, rows: int) -> pa.Array:
    """Return a value as an array of ``rows`` rows without a dictionary."""
    return decode(to_array(value, rows))


def list_array(
    kind: pa.DataType, counts: npt.NDArray[np.int64], elements: pa.Array, valid: npt.NDArray[np.bool_]
) -> pa.Array:
    """Return arrays or maps of so many elements each; raise ``ArrowCapacityError`` beyond 2³¹ elements in all."""
    ends = np.cumsum(counts)
    if ends.size and ends[-1] > _MOST_ELEMENTS:
        raise pa.ArrowCapacityError(f"{counts.size} arrays have {ends[-1]} elements")
    offsets = np.zeros(counts.size + 1, dtype=np.int32)
    offsets[1:] = ends
    validity, nulls = pack_validity(valid)
    return pa.Array.from_buffers(kind, counts.size, [validity, pa.py_buffer(offsets)], nulls, children=[elements])


def element_bounds(array: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return for each row the place of its first element and the number of its elements, none of NULL."""
    ends = array.offsets.to_numpy().astype(np.int64)
    return ends[:-1], np.where(np.asarray(array.is_valid()), np.diff(ends), 0)


def element_owners(
    ends: npt.NDArray[np.int32], valid: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return for each element of a valid array the row that owns it, and its place among all elements."""
    counts = np.where(valid, np.diff(ends), 0)
    owners = np.repeat(np.arange(counts.size), counts)
    before = np.cumsum(counts) - counts
    return owners, np.arange(owners.size) - before[owners] + ends[:-1].astype(np.int64)[owners]


def equal_values(left: pa.Array, right: pa.Array) -> npt.NDArray[np.bool_]:
    """Return where values are equal as in Spark: NaN equals NaN; NULL equals nothing."""
    equal = pc.equal(left, right)
    if pa.types.is_floating(left.type):
        equal = pc.or_(equal, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    return np.asarray(pc.fill_null(equal, False))


for _name in ("Alias", "KnownNotNull"):
    function(_name, [case(NESTED_KINDS, result=NESTED_KINDS)])(
        lambda call, settings: Kernel(run=lambda values, rows: values[0], null_intolerant=False)
    )
