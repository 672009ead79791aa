"""Generates the tables as Parquet files, once per scale, in a folder that later runs reuse."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")


def default_folder(scale: float) -> Path:
    """Return the folder of the tables of ``scale``."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "pyspark_pipeline" / "tpch" / f"sf{scale:g}"


def tables(folder: Path) -> dict[str, str]:
    """Return the file of each table."""
    return {table: str(folder / f"{table}.parquet") for table in TABLES}


def make(scale: float, folder: Path | None = None) -> Path:
    """Generate the tables of ``scale`` in ``folder`` unless they exist; return the folder."""
    target = folder or default_folder(scale)
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.parent / f"{target.name}.making", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not all(Path(path).is_file() for path in tables(target).values()):
            unfinished = target.with_name(f"{target.name}.unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            generator = _generator()
            print(f"making TPC-H scale {scale:g} in {target}", file=sys.stderr)
            subprocess.run([generator, "parquet", "-s", f"{scale:g}", "-q", "-o", str(unfinished)], check=True)
            shutil.rmtree(target, ignore_errors=True)
            os.replace(unfinished, target)
    return target


def _generator() -> str:
    beside = Path(sys.executable).with_name("tpchgen-cli")
    found = str(beside) if beside.is_file() else shutil.which("tpchgen-cli")
    if found is None:
        raise SystemExit("tpchgen-cli is not installed: pip install 'pyspark-pipeline[dev]'")
    return found
