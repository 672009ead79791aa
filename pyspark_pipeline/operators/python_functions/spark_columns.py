"""Columns between the engine and Python functions, which get and return them in the Arrow types of Spark.

Spark's types of nested columns have the names of fields, mark what is never NULL, and have timestamps in the time zone
of the session. The bytes of a column are the same in both, so a column changes its type without a copy.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.kernels.buffers import with_elements


def spark_arrow_type(type_: DataType, time_zone: str) -> pa.DataType:
    """Return the Arrow type of values in Spark: timestamps are in the time zone of the session."""
    if not type_.is_nested:
        return pa.timestamp("us", tz=time_zone) if type_.kind == "timestamp" else type_.arrow
    types = [spark_arrow_type(child, time_zone) for child in type_.children]
    nullable = [place not in type_.required for place in range(len(types))]
    if type_.kind == "array":
        return pa.list_(pa.field("element", types[0], nullable[0]))
    if type_.kind == "map":
        return pa.map_(pa.field("key", types[0], nullable=False), pa.field("value", types[1], nullable[1]))
    return pa.struct(list(map(pa.field, type_.names, types, nullable)))


def to_spark(column: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return a column of the engine as one of a type of Spark; below a NULL of it all is NULL or empty, as there."""
    if not pa.types.is_nested(type_) or pa.types.is_null(column.type):
        return column if column.type == type_ else column.cast(type_)
    return _retyped(_cleared(column), type_)


def of_spark(column: pa.Array, type_: DataType) -> pa.Array:
    """Return a column that a function returned as one of the engine.

    Raises ``TypeError`` if it has another type than ``type_`` in Spark, or a NULL where that has none.
    """
    wanted = type_.arrow
    if not type_.is_nested:
        return column if column.type == wanted else column.cast(wanted)
    narrow = _narrowed(column.type)
    narrowed = column if narrow == column.type else column.cast(narrow)
    if not _is_of(narrow, type_):
        raise TypeError(f"the function returned {column.type}, it declares {type_}")
    made = _cleared(_retyped(narrowed, wanted))
    if _has_wrong_null(made, type_):
        raise TypeError(f"the function returned NULL within {type_}, which declares that a part of it is never NULL")
    return made


class _Exported:
    """An array with another type of the same layout, for Arrow's C data interface."""

    def __init__(self, array: pa.Array, type_: pa.DataType) -> None:
        self._array = array
        self._type = type_

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        return self._type.__arrow_c_schema__(), self._array.__arrow_c_array__()[1]


def _retyped(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return the array, of which nothing is copied, with another type of the same layout."""
    return pa.array(_Exported(array, type_))


def _cleared(array: pa.Array) -> pa.Array:
    """Return an array of the engine without values below its NULLs: no elements, and only NULL fields of structs."""
    kind = array.type
    if pa.types.is_struct(kind):
        fields = [array.field(place) for place in range(kind.num_fields)]
        cleared = [_cleared(field) for field in (array.flatten() if array.null_count else fields)]
        if not array.null_count and all(map(operator.is_, cleared, fields)):
            return array
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(cleared, fields=list(kind), mask=mask)
    if not pa.types.is_list(kind) and not pa.types.is_map(kind):
        return array
    if array.null_count:
        lengths = np.diff(array.offsets.to_numpy())
        if lengths[np.asarray(array.is_null())].any():
            array = array.take(pa.array(np.arange(len(array))))
    if pa.types.is_map(kind):
        return _cleared_map(array)
    elements = array.values
    cleared = _cleared(elements)
    return array if cleared is elements else with_elements(array, kind, cleared)


def _cleared_map(array: pa.Array) -> pa.Array:
    keys, items = array.keys, array.items
    parts = [_cleared(keys), _cleared(items)]
    if parts[0] is keys and parts[1] is items:
        return array
    entries = pa.StructArray.from_arrays(parts, fields=[array.type.key_field, array.type.item_field])
    return with_elements(array, array.type, entries)


def _narrowed(kind: pa.DataType) -> pa.DataType:
    """Return the type with 32-bit offsets of strings and bytes."""
    if kind == pa.large_string():
        return pa.string()
    if kind == pa.large_binary():
        return pa.binary()
    fields = [field.with_type(_narrowed(field.type)) for field in _fields(kind)]
    if not fields:
        return kind
    if pa.types.is_struct(kind):
        return pa.struct(fields)
    return pa.map_(*fields) if pa.types.is_map(kind) else pa.list_(fields[0])


def _fields(kind: pa.DataType) -> Sequence[pa.Field]:
    """Return the fields of a struct, a list's element, or a map's key and value; none of other types."""
    if pa.types.is_struct(kind):
        return list(kind)
    if pa.types.is_map(kind):
        return [kind.key_field, kind.item_field]
    return [kind.value_field] if pa.types.is_list(kind) else []


def _is_of(found: pa.DataType, type_: DataType) -> bool:
    """Return whether Spark reads ``found`` as ``type_``, whatever the names of its fields are."""
    if type_.kind == "timestamp":
        return pa.types.is_timestamp(found) and found.unit == "us" and found.tz is not None
    if not type_.is_nested:
        return bool(found == type_.arrow)
    fields = _fields(found)
    is_kind = {"array": pa.types.is_list, "map": pa.types.is_map, "struct": pa.types.is_struct}[type_.kind](found)
    if not is_kind or len(fields) != len(type_.children):
        return False
    return all(_is_of(field.type, child) for field, child in zip(fields, type_.children, strict=True))


def _has_wrong_null(array: pa.Array, type_: DataType) -> bool:
    """Return whether a part that is never NULL is so in an array, which has no values below its NULLs."""
    if type_.kind == "struct":
        parts = [(array.field(place), array.null_count) for place in range(len(type_.children))]
    elif type_.is_nested and len(array):
        start, stop = array.offsets[0].as_py(), array.offsets[len(array)].as_py()
        found = [array.keys, array.items] if type_.kind == "map" else [array.values]
        parts = [(part[start:stop], 0) for part in found]
    else:
        parts = []
    return any(
        (place in type_.required and part.null_count > allowed) or _has_wrong_null(part, child)
        for place, ((part, allowed), child) in enumerate(zip(parts, type_.children, strict=False))
    )
