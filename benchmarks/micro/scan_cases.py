"""Scan cases: the columns of TPC-H's Q1, Q6 and Q9 and nested columns in Parquet, by the engine and by pyarrow.

The columns of TPC-H have the numbers of distinct values of ``lineitem``; decimals are stored as integers without
annotation, so that pyarrow does not convert them. Nested are an array of five numbers, a tenth of them NULL, and a
struct of ten fields, of which three are read. A row group has 115 000 rows and dictionaries, unless the name says
otherwise. With Q6's filter the engine returns one row of fifty; pyarrow reads all. Of zstd also the time of its library
for the same pages, which no reader that uses it can fall below.
"""

from __future__ import annotations

import atexit
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.micro.measure import Case, micro
from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.expressions.column_tests import RangeTest
from pyspark_pipeline.expressions.ranges import Range
from pyspark_pipeline.kernels import compile_cache, parquet_pages
from pyspark_pipeline.operators.scan.parquet.file import ParquetFileReader
from pyspark_pipeline.plan.nodes import Field

_GROUP_ROWS = 115_000


@dataclass(frozen=True)
class _Layout:
    """How a file is written."""

    compression: str
    group_rows: int = _GROUP_ROWS
    has_dictionaries: bool = True

    def __str__(self) -> str:
        rows = "" if self.group_rows == _GROUP_ROWS else f", row groups of {self.group_rows} rows"
        return self.compression + rows + ("" if self.has_dictionaries else ", plain")


_BATCH_ROWS = 131_072
_MOST_PAGES = 1 << 12
_DISTINCT = {
    "orderkey": (_GROUP_ROWS // 4, "bigint"),
    "partkey": (2_000_000, "bigint"),
    "suppkey": (100_000, "bigint"),
    "quantity": (50, "bigint"),
    "price": (900_000, "bigint"),
    "discount": (11, "bigint"),
    "tax": (9, "bigint"),
    "day": (2500, "int"),
}
_COLUMNS = {
    "Q1": ("quantity", "price", "discount", "tax", "day"),
    "Q6": ("quantity", "price", "discount", "day"),
    "Q9": ("orderkey", "partkey", "suppkey", "quantity", "price", "discount"),
}
_Q6_RANGES = {"quantity": (0, 23), "discount": (5, 7), "day": (365, 729)}
_LEAVES = [f"f{number}" for number in range(10)]
_NESTED = {"array": "array<bigint>", "struct": 'struct<"f1":bigint,"f4":bigint,"f8":bigint>'}
_PATHS = {"struct": ["struct.f1", "struct.f4", "struct.f8"]}


@cache
def _file(rows: int, layout: _Layout) -> str:
    dice = np.random.default_rng(42)
    columns = {}
    for name, (distinct, kind) in _DISTINCT.items():
        values = dice.integers(0, distinct, rows)
        ordered = np.arange(rows) // 4 if name == "orderkey" else values
        columns[name] = pa.array(ordered, pa.int64() if kind == "bigint" else pa.int32())
    schema = pa.schema([pa.field(name, column.type, nullable=False) for name, column in columns.items()])
    return _written(pa.table(columns, schema), "flat", layout)


@cache
def _nested_file(rows: int, layout: _Layout) -> str:
    dice = np.random.default_rng(42)
    offsets = pa.array(np.arange(0, rows * 5 + 1, 5, dtype=np.int32))
    elements = pa.array(dice.integers(0, 100, rows * 5), mask=dice.random(rows * 5) < 0.1)
    leaves = [pa.array(dice.integers(0, 1000, rows)) for _ in range(10)]
    array, struct = pa.ListArray.from_arrays(offsets, elements), pa.StructArray.from_arrays(leaves, names=_LEAVES)
    return _written(pa.table({"array": array, "struct": struct}), "nested", layout)


def _written(table: pa.Table, name: str, layout: _Layout) -> str:
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    path = str(Path(folder.name) / f"{name}.parquet")
    options = {"row_group_size": layout.group_rows, "use_dictionary": layout.has_dictionaries}
    pq.write_table(table, path, compression=layout.compression, **options)
    return path


def _fields(columns: Mapping[str, str]) -> list[Field]:
    return [Field(id=i, name=column, type=parse_type(kind)) for i, (column, kind) in enumerate(columns.items())]


def _register_engine(
    name: str,
    file: Callable[[int, _Layout], str],
    columns: Mapping[str, str],
    layout: _Layout,
    tests: Sequence[RangeTest] = (),
) -> None:
    """Register a case for columns of a file, their types by name, and the rows that pass the tests."""

    @micro(f"pages of {name}, {layout}")
    def by_engine(rows: int) -> tuple[Case, int]:
        with patch.object(compile_cache, "is_complete", return_value=True):  # the case is run once to warm up
            reader = ParquetFileReader(file(rows, layout), _fields(columns), True, tests=tests)
        groups = range(reader.metadata.num_row_groups)
        return lambda: [chunk.num_rows for group in groups for chunk in reader.chunks(group, _BATCH_ROWS)], rows


def _register_pyarrow(
    name: str, file: Callable[[int, _Layout], str], columns: Mapping[str, str], layout: _Layout
) -> None:
    paths = [path for column in columns for path in _PATHS.get(column, [column])]

    @micro(f"the same by pyarrow, {name}, {layout}")
    def by_pyarrow(rows: int) -> tuple[Case, int]:
        stored = pq.ParquetFile(file(rows, layout))
        groups = range(stored.metadata.num_row_groups)
        return lambda: [stored.read_row_group(group, paths, use_threads=False).num_rows for group in groups], rows


def _register_library(name: str, columns: Mapping[str, str], layout: _Layout) -> None:
    """Register a case for the decompression alone of flat columns."""

    @micro(f"the library alone, {name}, {layout}")
    def by_library(rows: int) -> tuple[Case, int]:
        pages, library = _compressed(_file(rows, layout), columns), pa.Codec(layout.compression)
        return lambda: [library.decompress(page, size).size for page, size in pages], rows


def _compressed(path: str, columns: Mapping[str, str]) -> list[tuple[pa.Buffer, int]]:
    """Return the compressed bytes of all pages of columns, and their sizes."""
    metadata, found = pq.ParquetFile(path).metadata, []
    for group in range(metadata.num_row_groups):
        for column in columns:
            stored = metadata.row_group(group).column(list(_DISTINCT).index(column))
            start, size = stored.dictionary_page_offset or stored.data_page_offset, stored.total_compressed_size
            data = np.zeros(size + parquet_pages.PADDING, dtype=np.uint8)
            data[:size] = np.fromfile(path, dtype=np.uint8, count=size, offset=start)
            table = np.zeros((_MOST_PAGES, parquet_pages.TABLE_COLUMNS), dtype=np.int64)
            pages = parquet_pages.read_page_headers(data, size, stored.num_values, table)
            assert pages > 0
            for page in table[:pages].tolist():
                at = page[parquet_pages.START]
                whole = pa.py_buffer(data[at : at + page[parquet_pages.STORED_SIZE]])
                found.append((whole, page[parquet_pages.SIZE]))
    return found


def _q6_tests() -> list[RangeTest]:
    places = {name: place for place, name in enumerate(_COLUMNS["Q6"])}
    return [RangeTest(Range(ordinal=places[name], low=low, high=high), ()) for name, (low, high) in _Q6_RANGES.items()]


for _compression in ("snappy", "zstd"):
    _layouts = _Layout(_compression), _Layout(_compression, 1_000_000), _Layout(_compression, has_dictionaries=False)
    for _layout in _layouts:
        for _query, _names in _COLUMNS.items():
            _types = {name: _DISTINCT[name][1] for name in _names}
            _register_engine(f"the columns of {_query}", _file, _types, _layout)
            if _query == "Q6":
                _register_engine("the columns of Q6 with its filter", _file, _types, _layout, _q6_tests())
            _register_pyarrow(f"the columns of {_query}", _file, _types, _layout)
            if _compression == "zstd":
                _register_library(f"the columns of {_query}", _types, _layout)
    for _name, _kind in _NESTED.items():
        _register_engine(f"the nested {_name}", _nested_file, {_name: _kind}, _Layout(_compression))
        _register_pyarrow(f"the nested {_name}", _nested_file, {_name: _kind}, _Layout(_compression))
