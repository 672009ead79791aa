"""Scan cases: the columns of TPC-H's Q1, Q6 and Q9 in Parquet, by the engine and by pyarrow.

The columns have the numbers of distinct values of ``lineitem``; decimals are stored as integers without annotation, so
that pyarrow does not convert them. A row group has 115 000 rows.
"""

from __future__ import annotations

import atexit
import tempfile
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.micro.measure import Case, micro
from pyspark_pipeline.kernels import compile_cache
from pyspark_pipeline.local.write import fields
from pyspark_pipeline.operators.scan.parquet.file import ParquetFileReader

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


def _file(rows: int, compression: str) -> str:
    dice = np.random.default_rng(42)
    columns = {}
    for name, (distinct, kind) in _DISTINCT.items():
        values = dice.integers(0, distinct, rows)
        ordered = np.arange(rows) // 4 if name == "orderkey" else values
        columns[name] = pa.array(ordered, pa.int64() if kind == "bigint" else pa.int32())
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    path = str(Path(folder.name) / f"{compression}.parquet")
    schema = pa.schema([pa.field(name, column.type, nullable=False) for name, column in columns.items()])
    pq.write_table(pa.table(columns, schema), path, compression=compression, row_group_size=_GROUP_ROWS)
    return path


def _register(query: str, compression: str) -> None:
    names = list(_COLUMNS[query])

    @micro(f"pages of the columns of {query}, {compression}")
    def by_engine(rows: int) -> tuple[Case, int]:
        spec = ", ".join(f"{name}:{_DISTINCT[name][1]}" for name in names)
        with patch.object(compile_cache, "is_complete", return_value=True):  # the case is run once to warm up
            reader = ParquetFileReader(_file(rows, compression), fields(spec), True)
        groups = range(reader.metadata.num_row_groups)
        return lambda: [chunk.num_rows for group in groups for chunk in reader.chunks(group, _BATCH_ROWS)], rows

    @micro(f"the same by pyarrow, {query}, {compression}")
    def by_pyarrow(rows: int) -> tuple[Case, int]:
        stored = pq.ParquetFile(_file(rows, compression))
        groups = range(stored.metadata.num_row_groups)
        return lambda: [stored.read_row_group(group, names, use_threads=False).num_rows for group in groups], rows


for _query in _COLUMNS:
    for _compression in ("snappy", "zstd"):
        _register(_query, _compression)
