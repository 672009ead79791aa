"""Functions that make maps: of columns, arrays, entries, other maps and texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.expressions import conditions
from pyspark_pipeline.expressions.cases import ALL_KINDS, FLOATING, ORDERED, Case, case
from pyspark_pipeline.expressions.element_codes import (
    equality_codes,
    valid_flags,
    without_signed_zeros,
)
from pyspark_pipeline.expressions.nested import Elements, list_array, map_pairs, plain_array
from pyspark_pipeline.expressions.per_value import java_text
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, LazyKernel, Value, function
from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array
from pyspark_pipeline.kernels.element_places import element_rows
from pyspark_pipeline.kernels.element_sets import first_places
from pyspark_pipeline.kernels.partition import grouped_order
from pyspark_pipeline.kernels.take import take
from pyspark_pipeline.plan.expr import Call, constants

_Builder: TypeAlias = Callable[[Call, bool], "Kernel | LazyKernel"]

_POLICY = "spark.sql.mapKeyDedupPolicy"
_NORMALIZED = {"spark.sql.legacy.disableMapKeyNormalization": ["false"]}
#: A text that is a regular expression of itself.
_PLAIN_TEXT = r"[\w ,;:=&#@!%~/'\"-]+"


def map_function(name: str, cases: Sequence[Case]) -> Callable[[_Builder], _Builder]:
    """Return a decorator that registers a function whose result depends on the policy for equal keys.

    The function is called with the call, and whether the last of equal keys wins; else they are an error.
    """

    def register(build: _Builder) -> _Builder:
        for policy in ("EXCEPTION", "LAST_WIN"):
            found = [{**one, "settings": {_POLICY: [policy], **_NORMALIZED}} for one in cases]
            function(name, found)(_with_policy(build, policy == "LAST_WIN"))
        return build

    return register


def _with_policy(build: _Builder, last_wins: bool) -> Callable[[Call, ExpressionSettings], Kernel | LazyKernel]:
    return lambda call, settings: build(call, last_wins)


def make_maps(
    type_: DataType, ends: Int64Array, valid: BoolArray, keys: pa.Array, items: pa.Array,
    *, last_wins: bool, keeps_zeros: bool = False,
) -> pa.Array:  # fmt: skip
    """Return maps of keys and values, the entries of all rows one after the other; ``ends`` (int64) begins with 0.

    ``last_wins``: of equal keys the last one has the value, at the place of the first; else Spark's error of equal keys
    is raised, as that of a NULL key always. A key −0.0 becomes 0.0, but with ``keeps_zeros`` only in maps with equal
    keys.
    """
    (codes,) = equality_codes([keys])
    first = first_places(ends, codes, valid_flags(keys))
    places = np.arange(codes.size)
    repeats = first != places
    _check_keys(keys, type_.children[0], repeats & (not last_wins))
    kind, counts = type_.arrow, np.diff(ends)
    if not repeats.any():
        made = keys if keeps_zeros else without_signed_zeros(keys)
        return list_array(kind, counts, map_pairs(kind, [made, items]), valid)
    latest = places.copy()
    latest[first] = places
    kept = ~repeats
    owners = element_rows(counts)
    if keeps_zeros and pa.types.is_floating(keys.type):
        has_repeats = np.zeros(counts.size, dtype=np.bool_)
        has_repeats[owners[repeats]] = True
        keys = pc.if_else(pa.array(has_repeats[owners]), without_signed_zeros(keys), keys)
    else:
        keys = without_signed_zeros(keys)
    pairs = map_pairs(kind, [keys.filter(pa.array(kept)), take(items, latest[kept])])
    return list_array(kind, np.bincount(owners[kept], minlength=counts.size), pairs, valid)


def _check_keys(keys: pa.Array, type_: DataType, repeats: BoolArray) -> None:
    """Raise the error of the first key that is NULL or repeats another."""
    wrong = repeats | ~valid_flags(keys)
    if wrong.any():
        key = keys[int(np.argmax(wrong))]
        raise conditions.duplicate_map_key(_text(key, type_)) if key.is_valid else conditions.null_map_key()


def _text(key: pa.Scalar, type_: DataType) -> str:
    """Return a key as Spark's errors print it: a moment as its number, bytes as an object of Java."""
    if type_.is_floating:
        return conditions.java_float(key.as_py(), type_).removesuffix("D")
    if type_.kind == "boolean":
        return str(key.as_py()).lower()
    if type_.kind == "binary":
        return "[B"
    if type_.kind == "string":
        return str(java_text(pa.array([key.as_buffer().to_pybytes()], pa.binary()).view(pa.string()))[0].as_py())
    return str(key.as_py() if type_.kind == "decimal" else key.value if hasattr(key, "value") else key.as_py())


# Spark 4.1 evaluates ``map`` inside a lambda in another way, which makes 0.0 of −0.0.
_PLAIN_KEYS = tuple(kind for kind in ORDERED if kind not in FLOATING)


@map_function("CreateMap", [case(ALL_KINDS, ALL_KINDS, variadic=True, result=["map"], keys=_PLAIN_KEYS)])
def _map(call: Call, last_wins: bool) -> Kernel:
    """Return maps of alternating keys and values."""
    count = len(call.args) // 2

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        order = np.arange(rows * count).reshape(count, rows).T.ravel()
        keys, items = (
            take(pa.concat_arrays([plain_array(value, rows) for value in values[part::2]]), order) for part in (0, 1)
        )
        ends = np.arange(0, rows * count + 1, count)
        return make_maps(call.type, ends, np.ones(rows, np.bool_), keys, items, last_wins=last_wins, keeps_zeros=True)

    return Kernel(run=run, can_raise=True, null_intolerant=False)


@map_function("MapFromArrays", [case(["array"], ["array"], result=["map"], keys=ORDERED)])
def _from_arrays(call: Call, last_wins: bool) -> Kernel:
    """Return maps of the elements of two arrays of one length."""

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        arrays = [plain_array(value, rows) for value in values]
        valid = np.asarray(pc.and_(arrays[0].is_valid(), arrays[1].is_valid()))
        keys, items = (Elements(array, valid) for array in arrays)
        if (keys.counts != items.counts).any():
            raise conditions.map_of_other_length()
        return make_maps(
            call.type, keys.ends, valid, keys.values(), items.values(), last_wins=last_wins, keeps_zeros=True
        )

    return Kernel(run=run, can_raise=True)


@map_function("MapFromEntries", [case(["array"], result=["map"], keys=ORDERED)])
def _from_entries(call: Call, last_wins: bool) -> Kernel:
    """Return maps of arrays of structs, the entries; NULL if one of these is NULL."""

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        array = plain_array(values[0], rows)
        elements = Elements(array)
        missing = ~valid_flags(elements.values())
        if missing.any():
            valid = elements.valid.copy()
            valid[elements.owners[missing]] = False
            elements = Elements(array, valid)
        keys, items = elements.values().flatten()
        return make_maps(call.type, elements.ends, elements.valid, keys, items, last_wins=last_wins)

    return Kernel(run=run, can_raise=True)


@map_function("MapConcat", [case(["map"], variadic=True, result=["map"], keys=ORDERED)])
def _concat(call: Call, last_wins: bool) -> Kernel:
    """Return maps of the entries of all arguments; NULL if one of these is NULL."""

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        arrays = [plain_array(value, rows) for value in values]
        valid = np.all([np.asarray(array.is_valid()) for array in arrays], axis=0)
        maps = [Elements(array, valid) for array in arrays]
        owners = np.concatenate([part.owners for part in maps])
        order = grouped_order(owners)
        keys, items = (
            take(pa.concat_arrays(list(parts)), order)
            for parts in zip(*[part.keys_and_items() for part in maps], strict=True)
        )
        ends = np.sum([part.ends for part in maps], axis=0)
        return make_maps(call.type, ends, valid, keys, items, last_wins=last_wins)

    return Kernel(run=run, can_raise=True)


@map_function("StringToMap", [
    case(["string"], ["string"], ["string"], result=["map"], matches={"1": _PLAIN_TEXT, "2": _PLAIN_TEXT}),
])  # fmt: skip
def _of_text(call: Call, last_wins: bool) -> Kernel:
    """Return maps of a text's entries between delimiters; an entry without the other delimiter has a NULL value."""
    between, inside = constants(call.args[1:])

    def run(values: Sequence[Value], rows: int) -> pa.Array:
        entries = Elements(pc.split_pattern(java_text(plain_array(values[0], rows)), between))
        parts = pc.split_pattern(entries.values(), inside, max_splits=1)
        ends: Any = parts.offsets.to_numpy().astype(np.int64)
        keys = take(parts.values, ends[:-1])
        items = take(parts.values, np.where(np.diff(ends) > 1, ends[:-1] + 1, -1), with_missing=True)
        return make_maps(call.type, entries.ends, entries.valid, keys, items, last_wins=last_wins)

    return Kernel(run=run, can_raise=True)
