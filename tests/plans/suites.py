"""The queries of TPC-H and TPC-DS over tables that have a schema and a size, and no rows: enough to plan with.

The texts and the schemas come with DuckDB's extensions. A table is one file without content, about as long as at
scale 10: the file system stores nothing for it, and planning asks for nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from benchmarks.duckdb_extensions import connect

_KIB = 1 << 10
_MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A benchmark: its queries by number, its schemas by table, and the length of the file of each table in bytes."""

    queries: Mapping[int, str]
    schemas: Mapping[str, pa.Schema]
    lengths: Mapping[str, int]


_TPCH_LENGTHS = {
    "customer": 132 * _MIB,
    "lineitem": 2429 * _MIB,
    "nation": 3 * _KIB,
    "orders": 646 * _MIB,
    "part": 66 * _MIB,
    "partsupp": 453 * _MIB,
    "region": 2 * _KIB,
    "supplier": 8 * _MIB,
}
_TPCDS_LENGTHS = {
    "call_center": 8 * _KIB,
    "catalog_page": 520 * _KIB,
    "catalog_returns": 75 * _MIB,
    "catalog_sales": 750 * _MIB,
    "customer": 18 * _MIB,
    "customer_address": 4 * _MIB,
    "customer_demographics": 2 * _MIB,
    "date_dim": 625 * _KIB,
    "household_demographics": 15 * _KIB,
    "income_band": _KIB,
    "inventory": 210 * _MIB,
    "item": 5 * _MIB,
    "promotion": 20 * _KIB,
    "reason": _KIB,
    "ship_mode": 2 * _KIB,
    "store": 20 * _KIB,
    "store_returns": 115 * _MIB,
    "store_sales": 1020 * _MIB,
    "time_dim": 310 * _KIB,
    "warehouse": 3 * _KIB,
    "web_page": 6 * _KIB,
    "web_returns": 37 * _MIB,
    "web_sales": 370 * _MIB,
    "web_site": 10 * _KIB,
}


def _suite(name: str, generator: str, lengths: Mapping[str, int]) -> Suite:
    with connect(name) as connection:
        connection.execute(f"call {generator}(sf=0)")
        queries = dict(connection.execute(f"select query_nr, query from {name}_queries()").fetchall())
        schemas = {table: connection.table(table).limit(0).to_arrow_table().schema for table in lengths}
    return Suite(queries=queries, schemas=schemas, lengths=lengths)


def tpch() -> Suite:
    """Return TPC-H."""
    return _suite("tpch", "dbgen", _TPCH_LENGTHS)


def tpcds() -> Suite:
    """Return TPC-DS."""
    return _suite("tpcds", "dsdgen", _TPCDS_LENGTHS)


def make_tables(suite: Suite, spark: SparkSession, folder: Path) -> None:
    """Create the tables of ``suite`` as views of empty files in ``folder``."""
    for table, schema in suite.schemas.items():
        path = folder / table
        path.mkdir(parents=True)
        with (path / "part-0.parquet").open("wb") as file:
            file.truncate(suite.lengths[table])
        spark.read.schema(from_arrow_schema(schema)).parquet(str(path)).createOrReplaceTempView(table)
