"""Nested columns of a file: the leaves to read for the requested fields, and the conversion to chunk columns.

A requested type is matched with the file's by structure, struct fields by name as top-level columns are. A field that
the file lacks is NULL. If it lacks all fields of a struct, one leaf is read for the NULLs of the struct itself, as in
Spark. pyarrow numbers the leaves of a column in the order of a depth-first walk over its type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.errors import CorruptFileError, DuplicateColumnError
from pyspark_pipeline.kernels.buffers import with_elements

#: A function that converts a column as pyarrow reads it to a chunk column.
Convert = Callable[[pa.Array], pa.Array]


@dataclass(frozen=True, slots=True)
class NestedColumn:
    """A part of a nested column: what the file stores for a part of the requested type.

    ``leaves`` are those to read below it. A part without ``children`` is a leaf, or a part that the file lacks
    (``is_missing``). ``names`` are the names of a struct's children in the file.
    """

    wanted: DataType
    leaves: tuple[int, ...]
    children: tuple[NestedColumn, ...] = ()
    names: tuple[str, ...] = ()
    is_missing: bool = False


#: Return the converter of a leaf: its number, the type that pyarrow reads, and the requested type.
LeafConverter = Callable[[int, pa.DataType, DataType], Convert]


def number_of_leaves(stored: pa.DataType) -> int:
    """Return the number of leaves below a type."""
    return sum(map(number_of_leaves, _children(stored))) if _is_nested(stored) else 1


def match_nested(stored: pa.DataType, wanted: DataType, first: int, case_sensitive: bool, path: str) -> NestedColumn:
    """Match a nested type with the file's, whose leaves have the numbers from ``first`` on.

    Raises :class:`CorruptFileError` if one is nested and the other is not, or if they nest differently.
    """
    stored = _storage(stored)
    if not wanted.is_nested and not _is_nested(stored):
        return NestedColumn(wanted, (first,))
    if _kind(stored) != wanted.kind:
        raise CorruptFileError(f"{path}: a column is stored as {stored} and cannot be read as {wanted}", path)
    firsts = list(_first_leaves(stored, first))
    if wanted.kind == "struct":
        return _match_struct(stored, wanted, firsts, case_sensitive, path)
    pairs = zip(_children(stored), wanted.children, firsts, strict=True)
    children = tuple(match_nested(child, kind, leaf, case_sensitive, path) for child, kind, leaf in pairs)
    return NestedColumn(wanted, tuple(leaf for child in children for leaf in child.leaves), children)


def _match_struct(
    stored: pa.StructType, wanted: DataType, firsts: list[int], case_sensitive: bool, path: str
) -> NestedColumn:
    fields = [stored.field(i) for i in range(stored.num_fields)]
    children, names = [], []
    for name, kind in zip(wanted.names, wanted.children, strict=True):
        if case_sensitive:
            places = [i for i, field in enumerate(fields) if field.name == name]
        else:
            places = [i for i, field in enumerate(fields) if field.name.lower() == name.lower()]
        if len(places) > 1:
            found = tuple(fields[i].name for i in places)
            message = f"{path}: more than one field of a struct is named {name}: {', '.join(found)}"
            raise DuplicateColumnError(message, path, name, found)
        if places:
            at = places[0]
            children.append(match_nested(fields[at].type, kind, firsts[at], case_sensitive, path))
            names.append(fields[at].name)
        else:
            children.append(NestedColumn(kind, (), is_missing=True))
            names.append("")
    leaves = tuple(leaf for child in children for leaf in child.leaves)
    return NestedColumn(wanted, leaves or (firsts[0],), tuple(children), tuple(names))


def read_leaves(column: NestedColumn) -> Iterator[tuple[int, DataType]]:
    """Yield the leaves whose values are read, with their requested types."""
    if not column.wanted.is_nested and not column.is_missing:
        yield column.leaves[0], column.wanted
    for child in column.children:
        yield from read_leaves(child)


def leaf_types(stored: pa.DataType, first: int) -> Iterator[tuple[int, pa.DataType]]:
    """Yield the number and the type of each leaf of a column."""
    stored = _storage(stored)
    if not _is_nested(stored):
        yield first, stored
        return
    for child, leaf in zip(_children(stored), _first_leaves(stored, first), strict=True):
        yield from leaf_types(child, leaf)


def nested_converter(column: NestedColumn, read: pa.DataType, leaf: LeafConverter) -> Convert:
    """Return the function that converts a column that pyarrow reads as ``read`` to a chunk column."""
    if column.is_missing:
        kind = column.wanted.arrow
        return lambda array: pa.nulls(len(array), kind)
    if isinstance(read, pa.BaseExtensionType):
        inner = nested_converter(column, read.storage_type, leaf)
        return lambda array: inner(array.storage)
    if not column.wanted.is_nested:
        return leaf(column.leaves[0], read, column.wanted)
    if column.wanted.kind == "struct":
        return _struct_converter(column, read, leaf)
    if column.wanted.kind == "map":
        return _map_converter(column, read, leaf)
    return _list_converter(column, read, leaf)


def _struct_converter(column: NestedColumn, read: pa.StructType, leaf: LeafConverter) -> Convert:
    target = column.wanted.arrow
    names = [target.field(i).name for i in range(target.num_fields)]
    converters = []
    for child, name in zip(column.children, column.names, strict=True):
        place = -1 if child.is_missing else read.get_field_index(name)
        # A missing field has the length of any other one.
        at = max(place, 0)
        converters.append((at, nested_converter(child, read.field(at).type, leaf)))

    def convert(array: pa.Array) -> pa.Array:
        children = [inner(array.field(at)) for at, inner in converters]
        nulls = pc.is_null(array) if array.null_count else None
        return pa.StructArray.from_arrays(children, names, mask=nulls)

    return convert


def _list_converter(column: NestedColumn, read: pa.DataType, leaf: LeafConverter) -> Convert:
    target = column.wanted.arrow
    inner = nested_converter(column.children[0], read.value_type, leaf)
    plain = None if pa.types.is_list(read) else pa.list_(read.value_type)

    def convert(array: pa.Array) -> pa.Array:
        array = array if plain is None else pc.cast(array, plain)
        return with_elements(array, target, inner(array.values))

    return convert


def _map_converter(column: NestedColumn, read: pa.MapType, leaf: LeafConverter) -> Convert:
    target = column.wanted.arrow
    keys = nested_converter(column.children[0], read.key_type, leaf)
    items = nested_converter(column.children[1], read.item_type, leaf)
    entries = pa.struct([target.key_field, target.item_field])

    def convert(array: pa.Array) -> pa.Array:
        pairs = pa.StructArray.from_arrays([keys(array.keys), items(array.items)], fields=list(entries))
        return with_elements(array, target, pairs)

    return convert


def _storage(stored: pa.DataType) -> pa.DataType:
    return stored.storage_type if isinstance(stored, pa.BaseExtensionType) else stored


def _kind(stored: pa.DataType) -> str:
    if pa.types.is_struct(stored):
        return "struct"
    if pa.types.is_map(stored):
        return "map"
    return "array" if _is_nested(stored) else ""


def _is_nested(stored: pa.DataType) -> bool:
    stored = _storage(stored)
    return bool(pa.types.is_nested(stored)) and not pa.types.is_dictionary(stored)


def _children(stored: pa.DataType) -> list[pa.DataType]:
    stored = _storage(stored)
    if pa.types.is_struct(stored):
        return [stored.field(i).type for i in range(stored.num_fields)]
    if pa.types.is_map(stored):
        return [stored.key_type, stored.item_type]
    return [stored.value_type]


def _first_leaves(stored: pa.DataType, first: int) -> Iterator[int]:
    """Yield the number of the first leaf of each child."""
    for child in _children(stored):
        yield first
        first += number_of_leaves(child)
