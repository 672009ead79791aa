"""Generates the tables as Parquet files with ``dsdgen`` of DuckDB's extension, once per scale.

Columns keep DuckDB's types (keys are BIGINT, amounts DECIMAL(7,2)) and rows the order of the generator.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.duckdb_extensions import connect
from benchmarks.table_files import cache_folder, files, make_once

TABLES = (
    "call_center", "catalog_page", "catalog_returns", "catalog_sales", "customer", "customer_address",
    "customer_demographics", "date_dim", "household_demographics", "income_band", "inventory", "item", "promotion",
    "reason", "ship_mode", "store", "store_returns", "store_sales", "time_dim", "warehouse", "web_page", "web_returns",
    "web_sales", "web_site",
)  # fmt: skip
#: DuckDB's limit while it generates; it writes the rest to its database file.
MEMORY = "3GiB"


def tables(folder: Path) -> dict[str, str]:
    """Return the file of each table."""
    return files(folder, TABLES)


def make(scale: float, folder: Path | None = None) -> Path:
    """Generate the tables of ``scale`` in ``folder`` unless they exist; return the folder.

    The generator's database is a file beside the folder: at scale 10 it has as many bytes as the Parquet files.
    """

    def generate(into: Path) -> None:
        into.mkdir()
        with tempfile.TemporaryDirectory(prefix=f"{into.name}-", dir=into.parent) as scratch:
            settings = {"memory_limit": MEMORY, "temp_directory": scratch}
            with connect("tpcds", Path(scratch) / "generated.db", settings) as connection:
                connection.execute(f"call dsdgen(sf={scale:g})")
                for table, path in tables(into).items():
                    connection.execute(f"copy {table} to '{path}' (format parquet)")

    return make_once(folder or cache_folder("tpcds", scale), TABLES, generate)
