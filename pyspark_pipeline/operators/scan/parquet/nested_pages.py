"""Nested columns whose leaves are all decoded by kernels: structs of leaves, and lists and maps one level deep.

A column is described by pyarrow's type for it, of which only the parts with leaves to read are kept. A field that may
be NULL has a definition level of its own, one more than the field above it, and so have the elements of a list or map.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pyspark_pipeline.kernels.arrays import Int32Array, UInt8Array
from pyspark_pipeline.kernels.buffers import allocate, pack_validity
from pyspark_pipeline.kernels.take import take
from pyspark_pipeline.operators.scan.nested import number_of_leaves
from pyspark_pipeline.operators.scan.parquet.pages import ColumnPages, is_known, open_pages

_MOST_SLOTS = 1 << 31  # of a repeated leaf, whose elements have offsets of 32 bits
_MOST_TEXT_BYTES = 1 << 31
_EXTRA_SLOTS = 1024  # that are read beyond those that as many rows have on average


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf to read: its number in the file, pyarrow's type for it, and its definition level.

    ``element_level``: the definition level of an element of the list or map that it lies in; 0 if in none.
    """

    number: int
    shown: pa.DataType
    depth: int
    element_level: int


@dataclass(frozen=True, slots=True)
class NestedLeaves:
    """A nested column with the leaves to read: its field in pyarrow's schema without the other leaves."""

    field: pa.Field
    leaves: tuple[Leaf, ...]


def known_leaves(
    field: pa.Field, first: int, wanted: AbstractSet[int], schema: pq.ParquetSchema
) -> NestedLeaves | None:
    """Return the ``wanted`` leaves of a nested column; None if pyarrow must read it, for the form of its type.

    ``field``: of pyarrow's schema of the file; ``first``: the number of its first leaf.
    """
    leaves: list[Leaf] = []
    pruned = _pruned(field, first, wanted, 0, 0, leaves)
    if pruned is None:
        return None
    for leaf in leaves:
        column = schema.column(leaf.number)
        if column.max_definition_level != leaf.depth or column.max_repetition_level != (leaf.element_level > 0):
            return None
        if not is_known(column, leaf.shown):
            return None
    return NestedLeaves(pruned, tuple(leaves))


def _pruned(
    field: pa.Field, first: int, wanted: AbstractSet[int], level: int, element_level: int, leaves: list[Leaf]
) -> pa.Field | None:
    """Return a field without the leaves that are not wanted, and add the others; None if there are none, or unknown."""
    kind = field.type
    level += field.nullable
    children: list[pa.Field]
    if pa.types.is_struct(kind):
        children = list(kind)
    elif element_level == 0 and pa.types.is_list(kind):
        children = [kind.value_field]
    elif element_level == 0 and pa.types.is_map(kind):
        children = [kind.key_field, kind.item_field]
    elif pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType):
        return None
    else:
        if first not in wanted:
            return None
        leaves.append(Leaf(first, kind, level, element_level))
        return field
    if not pa.types.is_struct(kind):
        level += 1
        element_level = level
    kept = []
    for child in children:
        number = number_of_leaves(child.type)
        if not wanted.isdisjoint(range(first, first + number)):
            inner = _pruned(child, first, wanted, level, element_level, leaves)
            if inner is None:
                return None
            kept.append(inner)
        first += number
    if pa.types.is_struct(kind):
        return field.with_type(pa.struct(kept))
    if len(kept) < len(children):
        return None
    return field.with_type(pa.list_(*kept) if pa.types.is_list(kind) else pa.map_(*kept))


@dataclass(frozen=True, slots=True)
class _Values:
    """The values of a leaf in successive rows: of each row, or of each element if the leaf is repeated.

    ``levels``: the definition levels of the values, empty if all are there; ``row_levels``: those of the rows, the same
    unless the leaf is repeated. ``ends``: the number of elements up to the end of each row, None if it is not.
    """

    array: pa.Array
    levels: UInt8Array
    row_levels: UInt8Array
    ends: Int32Array | None = None


class _Leaf:
    """A leaf that has one value in each row."""

    def __init__(self, pages: ColumnPages) -> None:
        self._pages = pages

    def read(self, rows: int, chosen: Int32Array | None) -> _Values:
        array, levels = self._pages.read_with_levels(rows, chosen)
        return _Values(_decoded(array), levels, levels)


class _RepeatedLeaf:
    """A leaf that has a value in each element of the list or map of a row.

    ``slots`` and ``rows`` are those of the row group. A row ends where the next one begins, so slots are read ahead.
    """

    def __init__(self, pages: ColumnPages, element_level: int, slots: int, rows: int) -> None:
        self._pages = pages
        self._element_level = element_level
        self._unread = slots
        self._slots_per_row = slots / max(rows, 1)
        self._ahead = (_NOTHING, _NOTHING, _NOTHING)

    def read(self, rows: int) -> _Values:
        slots = self._slots(rows)
        read, levels, row_levels, ends = self._pages.divide(slots, self._element_level, rows)
        size = self._pages.item_bytes
        buffer = pa.py_buffer(slots[0][: levels.size * size])
        array = self._pages.array(buffer, levels.size, levels)
        self._ahead = slots[0][read * size :], slots[1][read:], slots[2][read:]
        return _Values(_decoded(array), levels, row_levels, ends)

    def _slots(self, rows: int) -> tuple[UInt8Array, UInt8Array, UInt8Array]:
        """Return slots with the next ``rows`` rows and the beginning of the one after them, if there is one.

        Each time they do not suffice, as many more are read at least.
        """
        values, levels, repetitions = self._ahead
        size = self._pages.item_bytes
        while self._unread:
            missing = rows + 1 - int(repetitions.size - np.count_nonzero(repetitions))
            if missing <= 0:
                break
            more = min(self._unread, max(int(missing * self._slots_per_row) + _EXTRA_SLOTS, levels.size))
            before, after = levels.size, levels.size + more
            values, levels, repetitions = (
                _longer(values, after * size), _longer(levels, after), _longer(repetitions, after)
            )  # fmt: skip
            self._pages.read_slots(more, values[before * size :], levels[before:], repetitions[before:])
            self._unread -= more
        return values, levels, repetitions


_NOTHING = np.empty(0, dtype=np.uint8)


def _longer(array: UInt8Array, size: int) -> UInt8Array:
    """Return an array of that size that begins with another one."""
    longer = allocate(size, np.uint8)
    longer[: array.size] = array
    return longer


def _decoded(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


class NestedPages:
    """A nested column of a row group, in the order of the file. Not for several threads."""

    def __init__(self, field: pa.Field, leaves: Sequence[_Leaf | _RepeatedLeaf]) -> None:
        self._field = field
        self._leaves = leaves
        self._is_repeated = any(isinstance(leaf, _RepeatedLeaf) for leaf in leaves)

    def read(self, rows: int, chosen: Int32Array | None = None) -> pa.Array:
        """Return the next ``rows`` rows, or those of them that are ``chosen``, ascending places, shape (chosen,)."""
        taken = None if self._is_repeated else chosen
        found = [
            leaf.read(rows) if isinstance(leaf, _RepeatedLeaf) else leaf.read(rows, taken) for leaf in self._leaves
        ]
        array, _ = _assembled(self._field, 0, iter(found), is_element=False)
        return take(array, chosen) if self._is_repeated and chosen is not None else array


def _assembled(field: pa.Field, level: int, leaves: Iterator[_Values], is_element: bool) -> tuple[pa.Array, _Values]:
    """Return the array of a field, and the first leaf below it."""
    level += field.nullable
    kind = field.type
    if not pa.types.is_nested(kind):
        leaf = next(leaves)
        return leaf.array, leaf
    if pa.types.is_struct(kind):
        parts = [_assembled(child, level, leaves, is_element) for child in kind]
        first = parts[0][1]
        levels = first.levels if is_element else first.row_levels
        return _struct(list(kind), [part for part, _ in parts], levels if field.nullable else _NOTHING, level), first
    if pa.types.is_map(kind):
        keys, first = _assembled(kind.key_field, level + 1, leaves, is_element=True)
        items, _ = _assembled(kind.item_field, level + 1, leaves, is_element=True)
        elements = _struct([kind.key_field, kind.item_field], [keys, items], _NOTHING, 0)
        shown: pa.DataType = pa.map_(elements.type.field(0), elements.type.field(1))
    else:
        elements, first = _assembled(kind.value_field, level + 1, leaves, is_element=True)
        shown = pa.list_(kind.value_field.with_type(elements.type))
    assert first.ends is not None
    offsets = np.empty(first.ends.size + 1, dtype=np.int32)
    offsets[0] = 0
    offsets[1:] = first.ends
    mask, nulls = pack_validity(first.row_levels >= level) if field.nullable else (None, 0)
    buffers = [mask, pa.py_buffer(offsets)]
    return pa.Array.from_buffers(shown, first.ends.size, buffers, nulls, children=[elements]), first


def _struct(fields: Sequence[pa.Field], parts: Sequence[pa.Array], levels: UInt8Array, level: int) -> pa.Array:
    """Return structs of the parts, NULL where the levels, if any, are less than ``level``."""
    if len({len(part) for part in parts}) > 1:
        raise pa.ArrowInvalid("a nested column is damaged: its leaves have different numbers of elements")
    kind = pa.struct([field.with_type(part.type) for field, part in zip(fields, parts, strict=True)])
    mask, nulls = pack_validity(levels >= level) if levels.size else (None, 0)
    return pa.Array.from_buffers(kind, len(parts[0]), [mask], nulls, children=list(parts))


def open_nested(file: int, group: pq.RowGroupMetaData, column: NestedLeaves) -> NestedPages | None:
    """Read the bytes of a nested column of a row group; None if pyarrow must read it, for the form of a page."""
    readers: list[_Leaf | _RepeatedLeaf] = []
    for leaf in column.leaves:
        stored = group.column(leaf.number)
        is_repeated = leaf.element_level > 0
        if is_repeated and stored.num_values >= _MOST_SLOTS:
            return None
        pages = open_pages(file, stored, leaf.shown, leaf.depth, is_repeated)
        if pages is None or pages.longest_text * stored.num_values >= _MOST_TEXT_BYTES:
            return None
        if is_repeated:
            readers.append(_RepeatedLeaf(pages, leaf.element_level, stored.num_values, group.num_rows))
        else:
            readers.append(_Leaf(pages))
    return NestedPages(column.field, readers)
