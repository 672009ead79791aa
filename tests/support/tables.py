"""The tables of the gold files: each written once per session, and a view of the same name. Most are Parquet.

``@table`` declares a builder of one table: it writes files below the folder it is given and returns
a schema for Spark. Files differ on purpose: several per table, several row groups, with and without
dictionaries, data pages of both versions, every codec that pip's Spark and pyarrow share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

Builder = Callable[[SparkSession, Path], str | None]

TABLES: dict[str, Builder] = {}
#: The formats of tables that are not Parquet, and the options of their reads.
_FORMATS: dict[str, str] = {}
_OPTIONS: dict[str, dict[str, str]] = {}

_STYLES: tuple[dict[str, Any], ...] = (
    {"use_dictionary": True, "compression": "snappy", "data_page_version": "1.0"},
    {"use_dictionary": False, "compression": "zstd", "data_page_version": "2.0"},
    {"use_dictionary": True, "compression": "gzip", "write_page_index": True},
    {"use_dictionary": False, "compression": "none", "write_statistics": False},
)


def table(builder: Builder) -> Builder:
    """Register ``builder`` under its function name; it may return a schema (DDL) to read the files with."""
    TABLES[builder.__name__] = builder
    return builder


def text_table(builder: Builder) -> Builder:
    """Register ``builder`` of a table whose files are text."""
    _FORMATS[builder.__name__] = "text"
    return table(builder)


def csv_table(**options: str) -> Callable[[Builder], Builder]:
    """Register a builder of a table whose files are CSV, read with ``options``."""
    return _table_of("csv", options)


def json_table(**options: str) -> Callable[[Builder], Builder]:
    """Register a builder of a table whose files are lines of JSON, read with ``options``."""
    return _table_of("json", options)


def orc_table(**options: str) -> Callable[[Builder], Builder]:
    """Register a builder of a table whose files are ORC, read with ``options``."""
    return _table_of("orc", options)


def _table_of(format_name: str, options: dict[str, str]) -> Callable[[Builder], Builder]:
    def register(builder: Builder) -> Builder:
        _FORMATS[builder.__name__] = format_name
        _OPTIONS[builder.__name__] = options
        return table(builder)

    return register


def write(folder: Path, data: pa.Table, *, files: int = 3, row_group: int = 40) -> None:
    """Write ``data`` as ``files`` files of row groups of ``row_group`` rows, each file in the next style."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = -(-data.num_rows // files) if data.num_rows else 0
    for number in range(files):
        part = data.slice(number * rows, rows)
        style = _STYLES[number % len(_STYLES)]
        pq.write_table(part, folder / f"part-{number:05d}.parquet", row_group_size=row_group, **style)


class TableShelf:
    """Builds tables on demand below one folder and registers their views in one session."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        self._known: set[str] = set()

    def path(self, name: str) -> Path:
        """Return the folder of the files of ``name``; build them if they do not exist."""
        self.use([name])
        return self._folder / name

    def use(self, names: Iterable[str]) -> None:
        """Register the views ``names``; build their tables if they do not exist."""
        for name in names:
            if name not in self._known:
                self._register(name)
                self._known.add(name)

    def _register(self, name: str) -> None:
        if name not in TABLES:
            raise KeyError(f"no table {name!r}; there are {', '.join(sorted(TABLES))}")
        folder = self._folder / name
        schema = TABLES[name](self._spark, folder)
        reader = self._spark.read.options(**_OPTIONS.get(name, {}))
        if schema is not None:
            reader = reader.schema(schema)
        reader.format(_FORMATS.get(name, "parquet")).load(str(folder)).createOrReplaceTempView(name)
