"""Generates the tables as Parquet files with ``tpchgen-cli``, once per scale."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks.table_files import cache_folder, files, make_once

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")


def tables(folder: Path) -> dict[str, str]:
    """Return the file of each table."""
    return files(folder, TABLES)


def make(scale: float, folder: Path | None = None) -> Path:
    """Generate the tables of ``scale`` in ``folder`` unless they exist; return the folder."""

    def generate(into: Path) -> None:
        subprocess.run([_generator(), "parquet", "-s", f"{scale:g}", "-q", "-o", str(into)], check=True)

    return make_once(folder or cache_folder("tpch", scale), TABLES, generate)


def _generator() -> str:
    beside = Path(sys.executable).with_name("tpchgen-cli")
    found = str(beside) if beside.is_file() else shutil.which("tpchgen-cli")
    if found is None:
        raise SystemExit("tpchgen-cli is not installed: pip install 'pyspark-pipeline[dev]'")
    return found
