"""Scan cases: the columns of TPC-H's Q1, Q6 and Q9 and nested columns in Parquet, by the engine and by pyarrow.

The columns of TPC-H have the numbers of distinct values of ``lineitem``; decimals are stored as integers without
annotation, so that pyarrow does not convert them. Nested are an array of five numbers, a tenth of them NULL, and a
struct of ten fields, of which three are read. A row group has 115 000 rows.
"""

from __future__ import annotations

import atexit
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.micro.measure import Case, micro
from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.kernels import compile_cache
from pyspark_pipeline.operators.scan.parquet.file import ParquetFileReader
from pyspark_pipeline.plan.nodes import Field

_GROUP_ROWS = 115_000
_BATCH_ROWS = 131_072
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
_LEAVES = [f"f{number}" for number in range(10)]
_NESTED = {"array": "array<bigint>", "struct": 'struct<"f1":bigint,"f4":bigint,"f8":bigint>'}
_PATHS = {"struct": ["struct.f1", "struct.f4", "struct.f8"]}


def _file(rows: int, compression: str) -> str:
    dice = np.random.default_rng(42)
    columns = {}
    for name, (distinct, kind) in _DISTINCT.items():
        values = dice.integers(0, distinct, rows)
        ordered = np.arange(rows) // 4 if name == "orderkey" else values
        columns[name] = pa.array(ordered, pa.int64() if kind == "bigint" else pa.int32())
    schema = pa.schema([pa.field(name, column.type, nullable=False) for name, column in columns.items()])
    return _written(pa.table(columns, schema), "flat", compression)


def _nested_file(rows: int, compression: str) -> str:
    dice = np.random.default_rng(42)
    offsets = pa.array(np.arange(0, rows * 5 + 1, 5, dtype=np.int32))
    elements = pa.array(dice.integers(0, 100, rows * 5), mask=dice.random(rows * 5) < 0.1)
    leaves = [pa.array(dice.integers(0, 1000, rows)) for _ in range(10)]
    array, struct = pa.ListArray.from_arrays(offsets, elements), pa.StructArray.from_arrays(leaves, names=_LEAVES)
    return _written(pa.table({"array": array, "struct": struct}), "nested", compression)


def _written(table: pa.Table, name: str, compression: str) -> str:
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    path = str(Path(folder.name) / f"{name}.parquet")
    pq.write_table(table, path, compression=compression, row_group_size=_GROUP_ROWS)
    return path


def _register(name: str, file: Callable[[int, str], str], columns: Mapping[str, str], compression: str) -> None:
    """Register two cases for columns of a file: their types by name, or by the paths of their leaves for pyarrow."""
    wanted = [Field(id=i, name=column, type=parse_type(kind)) for i, (column, kind) in enumerate(columns.items())]
    paths = [path for column in columns for path in _PATHS.get(column, [column])]

    @micro(f"pages of {name}, {compression}")
    def by_engine(rows: int) -> tuple[Case, int]:
        with patch.object(compile_cache, "is_complete", return_value=True):  # the case is run once to warm up
            reader = ParquetFileReader(file(rows, compression), wanted, True)
        groups = range(reader.metadata.num_row_groups)
        return lambda: [chunk.num_rows for group in groups for chunk in reader.chunks(group, _BATCH_ROWS)], rows

    @micro(f"the same by pyarrow, {name}, {compression}")
    def by_pyarrow(rows: int) -> tuple[Case, int]:
        stored = pq.ParquetFile(file(rows, compression))
        groups = range(stored.metadata.num_row_groups)
        return lambda: [stored.read_row_group(group, paths, use_threads=False).num_rows for group in groups], rows


for _compression in ("snappy", "zstd"):
    for _query, _names in _COLUMNS.items():
        _register(f"the columns of {_query}", _file, {name: _DISTINCT[name][1] for name in _names}, _compression)
    for _name, _kind in _NESTED.items():
        _register(f"the nested {_name}", _nested_file, {_name: _kind}, _compression)
