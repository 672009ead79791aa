"""Converts columns to the physical values of Spark's Parquet files.

The footer declares the logical types (:mod:`~.parquet_footer`), so a column only needs the right physical type, the
right order of its statistics, and the levels of its nesting: decimals of up to 18 digits are integers, other decimals
are fixed-length bytes, timestamps are INT96 or integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.errors import AncientDatetimeError
from pyspark_pipeline.kernels.arrays import Array
from pyspark_pipeline.kernels.buffers import decimal_words, fixed_array
from pyspark_pipeline.kernels.buffers import values as fixed_values
from pyspark_pipeline.plan.writes import OldestValue, ParquetLayout, WrittenColumn

INT96 = "INT96"
_MILLIS = "TIMESTAMP_MILLIS"
_INT_DIGITS = 9
_PAGE_ROWS = 20_000
_LONG_DIGITS = 18
_NANOS_PER_MICRO = 1000
_MICROS_PER_MILLI = 1000

#: Converts an array of the engine to one of the written type.
Convert: TypeAlias = Callable[[pa.Array], pa.Array]


def written_type(kind: DataType, timestamps: str) -> pa.DataType:
    """Return the Arrow type from which Arrow's writer makes the physical values of Spark's type ``kind``."""
    if kind.kind == "array":
        return pa.list_(pa.field("element", written_type(kind.children[0], timestamps), 0 not in kind.required))
    if kind.kind == "map":
        key, value = (written_type(child, timestamps) for child in kind.children)
        return pa.map_(key, pa.field("value", value, 1 not in kind.required))
    if kind.kind == "struct":
        return pa.struct(
            pa.field(name, written_type(child, timestamps), place not in kind.required)
            for place, (name, child) in enumerate(zip(kind.names, kind.children, strict=True))
        )
    if kind.kind == "decimal" and kind.precision <= _LONG_DIGITS:
        return pa.int32() if kind.precision <= _INT_DIGITS else pa.int64()
    if kind.kind == "timestamp" and timestamps == INT96:
        return pa.timestamp("us")
    return pa.int64() if kind.kind in ("timestamp", "timestamp_ntz", "time") else kind.arrow


class WrittenColumns:
    """The columns of the files of a write, in order."""

    def __init__(self, columns: tuple[WrittenColumn, ...], layout: ParquetLayout) -> None:
        types = [written_type(column.type, layout.timestamps) for column in columns]
        self.schema = pa.schema(
            pa.field(column.name, kind, column.nullable) for column, kind in zip(columns, types, strict=True)
        )
        self._converters = [_converter(c.type, kind, layout) for c, kind in zip(columns, types, strict=True)]
        self._ordinals = [column.ordinal for column in columns]
        self._floats = [(place, path) for place, column in enumerate(columns) for path in _float_paths(column.type)]
        self._flat = [place for place, column in enumerate(columns) if not column.type.is_nested]
        self._paths = [
            (place, path) for place, column in enumerate(columns) for path in _leaf_paths(column.type, column.name)
        ]
        leaves = [leaf for column in columns for leaf in _leaves(column.type)]
        self._float_leaves = [number for number, leaf in enumerate(leaves) if leaf.is_floating]

    def convert(self, chunk: pa.RecordBatch) -> pa.RecordBatch:
        """Return the written columns of a chunk of the rows."""
        arrays = [
            convert(chunk.column(ordinal)) for ordinal, convert in zip(self._ordinals, self._converters, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def dictionary_columns(self, table: pa.Table) -> bool | list[str]:
        """Return the leaf columns to encode by dictionaries, from the rows of the first row group; True for all.

        As in parquet-mr, the first page decides: without repeated values a dictionary would only cost time.
        """
        if table.num_rows < _PAGE_ROWS:
            return True
        page = table.slice(0, _PAGE_ROWS)
        plain = {place for place in self._flat if not _repeats(page.column(place))}
        if not plain:
            return True
        return [path for place, path in self._paths if place not in plain]

    def leaves_with_nan(self, chunk: pa.RecordBatch) -> Iterator[int]:
        """Yield the numbers of those leaf columns of a converted chunk that contain NaN."""
        for number, (place, path) in zip(self._float_leaves, self._floats, strict=True):
            if _has_nan(_descend(chunk.column(place), path)):
                yield number


def _leaves(kind: DataType) -> Iterator[DataType]:
    """Yield the types of the leaf columns of a type in the order of Parquet."""
    if not kind.children:
        yield kind
    for child in kind.children:
        yield from _leaves(child)


def _leaf_paths(kind: DataType, name: str) -> Iterator[str]:
    """Yield the names of the leaf columns of a column in files."""
    if kind.kind == "struct":
        names = [f"{name}.{field}" for field in kind.names]
    elif kind.kind == "map":
        names = [f"{name}.key_value.key", f"{name}.key_value.value"]
    elif kind.kind == "array":
        names = [f"{name}.list.element"]
    else:
        yield name
        return
    for child, path in zip(kind.children, names, strict=True):
        yield from _leaf_paths(child, path)


def _repeats(column: pa.ChunkedArray) -> bool:
    """Return whether a dictionary of the values and indices into it would be smaller than the values."""
    rows = len(column) - column.null_count
    distinct = pc.count_distinct(column).as_py()
    width = column.nbytes / max(len(column), 1)
    return bool(distinct * width + rows * max(distinct - 1, 1).bit_length() / 8 < rows * width)


def _float_paths(kind: DataType) -> Iterator[tuple[int, ...]]:
    """Yield the children to descend to for each leaf column of floating-point numbers, in order."""
    if kind.is_floating:
        yield ()
    for place, child in enumerate(kind.children):
        for path in _float_paths(child):
            yield (place, *path)


def _descend(array: pa.Array, path: tuple[int, ...]) -> pa.Array:
    for place in path:
        if pa.types.is_struct(array.type):
            array = array.field(place)
        elif pa.types.is_map(array.type):
            array = (array.keys, array.items)[place]
        else:
            array = array.flatten()
    return array


def _has_nan(array: pa.Array) -> bool:
    return bool(pc.any(pc.is_nan(array)).as_py())


def _converter(kind: DataType, target: pa.DataType, layout: ParquetLayout) -> Convert:
    if kind.kind == "struct":
        return _struct_converter(kind, target, layout)
    if kind.kind == "map":
        return _map_converter(kind, target, layout)
    if kind.kind == "array":
        return _array_converter(kind, target, layout)
    convert = _leaf_converter(kind, target, layout.timestamps)
    oldest = layout.oldest.get(kind.kind)
    return convert if oldest is None else _checked(convert, oldest)


def _checked(convert: Convert, oldest: OldestValue) -> Convert:
    """Return ``convert`` that raises :class:`AncientDatetimeError` for a value before the oldest one."""

    def checked(array: pa.Array) -> pa.Array:
        words = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
        first = pc.min(words).as_py()
        if first is not None and first < oldest.value:
            raise AncientDatetimeError(oldest.format)
        return convert(array)

    return checked


def _leaf_converter(kind: DataType, target: pa.DataType, timestamps: str) -> Convert:
    if kind.kind == "decimal" and pa.types.is_integer(target):
        return lambda array: _unscaled(array, target)
    if kind.kind == "timestamp" and timestamps == _MILLIS:
        return lambda array: _floor_divided(array.view(target), _MICROS_PER_MILLI)
    if kind.kind == "time":
        return lambda array: _floor_divided(array, _NANOS_PER_MICRO)
    if kind.kind in ("timestamp", "timestamp_ntz"):
        return lambda array: array.view(target)
    if kind.kind == "string":
        return lambda array: array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    return lambda array: array


def _struct_converter(kind: DataType, target: pa.DataType, layout: ParquetLayout) -> Convert:
    fields = list(target)
    converters = [_converter(child, of.type, layout) for child, of in zip(kind.children, fields, strict=True)]

    def convert(array: pa.Array) -> pa.Array:
        parts = [change(array.field(place)) for place, change in enumerate(converters)]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)

    return convert


def _map_converter(kind: DataType, target: pa.DataType, layout: ParquetLayout) -> Convert:
    key = _converter(kind.children[0], target.key_type, layout)
    value = _converter(kind.children[1], target.item_type, layout)

    def convert(array: pa.Array) -> pa.Array:
        plain = _without_offset(array)
        pairs = pa.StructArray.from_arrays(
            [key(plain.keys), value(plain.items)], fields=[target.key_field, target.item_field]
        )
        return pa.Array.from_buffers(target, len(plain), plain.buffers()[:2], plain.null_count, children=[pairs])

    return convert


def _array_converter(kind: DataType, target: pa.DataType, layout: ParquetLayout) -> Convert:
    element = _converter(kind.children[0], target.value_type, layout)

    def convert(array: pa.Array) -> pa.Array:
        plain = _without_offset(array)
        elements = element(plain.values)
        return pa.Array.from_buffers(target, len(plain), plain.buffers()[:2], plain.null_count, children=[elements])

    return convert


def _without_offset(array: pa.Array) -> pa.Array:
    """Return a list or map array whose buffers begin at its first row."""
    return pa.concat_arrays([array, array[:0]]) if array.offset else array


def _unscaled(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return the unscaled integers of decimals that fit into 64 bits."""
    low = decimal_words(array).reshape(-1, 2)[:, 0]
    return _with_validity(low.astype(target.to_pandas_dtype()), array, target)


def _floor_divided(array: pa.Array, divisor: int) -> pa.Array:
    return _with_validity(fixed_values(array) // divisor, array, array.type)


def _with_validity(words: Array, array: pa.Array, target: pa.DataType) -> pa.Array:
    valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
    return fixed_array(target, words, valid)
