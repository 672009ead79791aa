"""Arrays, maps and structs: their fields and elements, their sizes, and how they are made of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.cases import ALL_KINDS, INTEGRAL, KINDS, case
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, Value, function
from pyspark_pipeline.expressions.values import decode, flags, numbers, to_array
from pyspark_pipeline.kernels import buffers
from pyspark_pipeline.kernels.arrays import BoolArray, Int32Array, Int64Array
from pyspark_pipeline.kernels.buffers import pack_validity, with_elements
from pyspark_pipeline.kernels.chosen_elements import count_chosen, first_chosen, has_chosen
from pyspark_pipeline.kernels.element_places import element_positions, element_rows, range_places
from pyspark_pipeline.kernels.take import take
from pyspark_pipeline.plan.expr import Call

_FAILS = {"failOnError": ["true", "false"]}
#: The longest array of Spark.
MOST_ELEMENTS = 2**31 - 16
_MOST_OFFSET = 2**31 - 1
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
        elements = _alternating(columns, rows)
        offsets = np.arange(0, rows * count + 1, count, dtype=np.int32)
        return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(offsets)], 0, children=[elements])

    return Kernel(run=run, null_intolerant=False)


def _alternating(columns: Sequence[pa.Array], rows: int) -> pa.Array:
    """Return the first value of each column, then the second one of each, and so on."""
    kind, count = columns[0].type, len(columns)
    is_fixed = pa.types.is_primitive(kind) and not pa.types.is_boolean(kind) and kind.bit_width <= 64
    if is_fixed and not any(column.null_count for column in columns):
        made = np.empty((rows, count), dtype=buffers.values(columns[0]).dtype)
        for place, column in enumerate(columns):
            made[:, place] = buffers.values(column)
        return pa.Array.from_buffers(kind, rows * count, [None, pa.py_buffer(made)])
    places = np.arange(rows * count).reshape(count, rows).T.ravel()
    return take(pa.concat_arrays(columns), places)


@function("GetStructField", [case(["struct"], result=ALL_KINDS)])
def _struct_field(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return a field; NULL if the struct is NULL."""
    ordinal = int(call.fields["ordinal"])

    def run(values: Sequence[Value], rows: int) -> Value:
        struct = values[0]
        if isinstance(struct, pa.StructArray) and not struct.null_count:
            return struct.field(ordinal)
        return pc.struct_field(struct, [ordinal])

    return Kernel(run=run)


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
        array = to_array(values[0], rows)
        is_constant = rows > 0 and isinstance(values[1], pa.Scalar) and values[1].is_valid
        wanted = pa.array([values[1]]) if is_constant else to_array(values[1], rows)
        index: Any = numbers(wanted).astype(np.int32, copy=False)
        ends = array.offsets.to_numpy()
        inside = (index >= 0) & (index < np.diff(ends))
        if not array.null_count and not wanted.null_count and inside.all():
            return take(array.values, ends[:-1] + index)
        known = np.asarray(array.is_valid()) & np.asarray(wanted.is_valid())
        wrong = known & ~inside
        if fails and wrong.any():
            row = int(np.argmax(wrong))
            wanted_there = int(np.broadcast_to(index, rows)[row])
            raise conditions.index_out_of_range(wanted_there, int(ends[row + 1] - ends[row]), call.context)
        return take(array.values, np.where(known & inside, ends[:-1] + index, -1), with_missing=True)

    return Kernel(run=run, can_raise=fails)


@function("ElementAt", [case(["array"], ["int"], fields=_FAILS, result=ALL_KINDS)])
def _element_at(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return the element of a number, from 1 or, if negative, from the end; outside NULL, or an error in ANSI mode.

    Only an error in ANSI mode names the place in the query.
    """
    fails = bool(call.fields["failOnError"])
    context = call.context if fails else -1

    def run(values: Sequence[Value], rows: int) -> Value:
        array, wanted = to_array(values[0], rows), to_array(values[1], rows)
        known = np.asarray(pc.and_(array.is_valid(), wanted.is_valid()))
        ends = array.offsets.to_numpy()
        index: Any = numbers(wanted).astype(np.int64)
        at, inside = element_places(index, ends, known, context)
        if fails and not inside[known].all():
            row = int(np.argmax(known & ~inside))
            raise conditions.element_out_of_range(int(index[row]), int(ends[row + 1] - ends[row]), call.context)
        return take(array.values, np.where(known & inside, at, -1), with_missing=True)

    return Kernel(run=run, can_raise=True)


def element_places(
    index: Int64Array, ends: Int32Array, known: BoolArray, context: int = -1
) -> tuple[Int64Array, BoolArray]:
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
        entries = Elements(to_array(values[0], rows))
        keys, items = entries.keys_and_items()
        at = entries.first(equal_values(keys, entries.repeated(values[1])))
        return take(items, at, with_missing=True)

    return Kernel(run=run)


for _name in ("GetMapValue", "ElementAt"):
    function(_name, [case(["map"], KINDS, result=ALL_KINDS)])(_map_value)


@function("ArrayContains", [case(["array"], KINDS)])
def _array_contains(call: Call, settings: ExpressionSettings) -> Kernel:
    """Return whether an element equals a value; NULL if none does and an element is NULL."""

    def run(values: Sequence[Value], rows: int) -> Value:
        elements = Elements(to_array(values[0], rows))
        members = elements.values()
        is_found = elements.has(equal_values(members, elements.repeated(values[1])))
        is_unknown = ~elements.valid | ~flags(to_array(values[1], rows).is_valid())
        if members.null_count:
            is_unknown |= ~is_found & elements.has(flags(members.is_null()))
        return pa.array(is_found, mask=is_unknown)

    return Kernel(run=run)


def plain_array(value: Value, rows: int) -> pa.Array:
    """Return a value as an array of ``rows`` rows without a dictionary."""
    return decode(to_array(value, rows))


def list_array(
    kind: pa.DataType, counts: Int64Array, elements: pa.Array, valid: BoolArray
) -> pa.Array:
    """Return arrays or maps of so many elements each; raise ``ArrowCapacityError`` beyond 2³¹ elements in all."""
    ends = np.cumsum(counts)
    if ends.size and ends[-1] > _MOST_OFFSET:
        raise pa.ArrowCapacityError(f"{counts.size} arrays have {ends[-1]} elements")
    offsets = np.zeros(counts.size + 1, dtype=np.int32)
    offsets[1:] = ends
    validity, nulls = pack_validity(valid)
    return pa.Array.from_buffers(kind, counts.size, [validity, pa.py_buffer(offsets)], nulls, children=[elements])


def map_pairs(kind: pa.MapType, parts: Sequence[pa.Array]) -> pa.Array:
    """Return keys and values as the entries of maps of an Arrow type."""
    return pa.StructArray.from_arrays(list(parts), fields=[kind.key_field, kind.item_field])


def element_bounds(array: pa.Array) -> tuple[Int64Array, Int64Array]:
    """Return for each row the place of its first element and the number of its elements, none of NULL."""
    ends = array.offsets.to_numpy().astype(np.int64)
    return ends[:-1], np.where(np.asarray(array.is_valid()), np.diff(ends), 0)


class Elements:
    """The elements of arrays or the entries of maps, those of all rows one after the other; NULL rows have none.

    So do rows that are not among ``valid``, if it is given.
    ``valid`` (bool) and ``counts`` (int64) are of shape (rows,); ``ends`` (int64), of shape (rows + 1,), are the bounds
    of each row's elements among all.
    """

    __slots__ = ("array", "valid", "counts", "ends", "_taken", "_owners")

    def __init__(self, array: pa.Array, valid: BoolArray | None = None) -> None:
        offsets = array.offsets.to_numpy() if len(array) else np.zeros(1, dtype=np.int32)
        self.array = array
        self.valid = flags(array.is_valid()) if valid is None else valid
        self.counts = np.diff(offsets).astype(np.int64)
        self._taken: slice | Int64Array = slice(int(offsets[0]), int(offsets[-1]))
        self._owners: Int64Array | None = None
        if not self.valid.all() and self.counts[~self.valid].any():
            self.counts[~self.valid] = 0
            self._taken = range_places(offsets[:-1].astype(np.int64), self.counts)
        self.ends = np.zeros(len(array) + 1, dtype=np.int64)
        np.cumsum(self.counts, out=self.ends[1:])

    @property
    def total(self) -> int:
        """The number of all elements."""
        return int(self.ends[-1])

    @property
    def owners(self) -> Int64Array:
        """The row of each element."""
        if self._owners is None:
            self._owners = element_rows(self.counts)
        return self._owners

    def positions(self) -> Int32Array:
        """Return the position of each element in its row, from 0."""
        found: Int32Array = element_positions(self.counts).astype(np.int32)
        return found

    def values(self) -> pa.Array:
        """Return the elements of the arrays."""
        return self._part(self.array.values)

    def keys_and_items(self) -> list[pa.Array]:
        """Return the keys and the values of the maps' entries."""
        return [self._part(self.array.keys), self._part(self.array.items)]

    def repeated(self, value: Value) -> Value:
        """Return the value of each element's row, without a dictionary; a scalar stays one."""
        return value if isinstance(value, pa.Scalar) else take(decode(value), self.owners)

    def has(self, chosen: BoolArray) -> BoolArray:
        """Return for each row whether one of its elements is ``chosen``."""
        return has_chosen(self.ends, chosen)

    def counts_of(self, chosen: BoolArray) -> Int64Array:
        """Return for each row the number of its elements that are ``chosen``."""
        return count_chosen(self.ends, chosen)

    def first(self, chosen: BoolArray) -> Int64Array:
        """Return for each row its first element that is ``chosen``, as a place among all; −1 if there is none."""
        return first_chosen(self.ends, chosen)

    def _part(self, part: pa.Array) -> pa.Array:
        return part[self._taken] if isinstance(self._taken, slice) else take(part, self._taken)


def equal_values(left: pa.Array, right: Value) -> BoolArray:
    """Return where values are equal as in Spark: NaN equals NaN; NULL equals nothing."""
    equal = pc.equal(left, right)
    if pa.types.is_floating(left.type):
        equal = pc.or_(equal, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    found = flags(equal)
    return found & flags(equal.is_valid()) if equal.null_count else found
