"""Makes the tables of a benchmark as files, once per scale, in a folder that later runs reuse."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path


def cache_folder(benchmark: str, scale: float) -> Path:
    """Return the folder of the tables of ``benchmark`` at ``scale``."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "pyspark_pipeline" / benchmark / f"sf{scale:g}"


def files(folder: Path, tables: Sequence[str], suffix: str = ".parquet") -> dict[str, str]:
    """Return the file of each table."""
    return {table: str(folder / f"{table}{suffix}") for table in tables}


def make_once(
    target: Path, tables: Sequence[str], generate: Callable[[Path], None], suffix: str = ".parquet"
) -> Path:
    """Make the files of ``tables`` in the folder ``target`` unless all exist; return the folder.

    ``generate`` makes its argument, a folder beside ``target``, which is then renamed. Other processes wait meanwhile.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target.parent / f"{target.name}.making", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not all(Path(path).is_file() for path in files(target, tables, suffix).values()):
            unfinished = target.with_name(f"{target.name}.unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            print(f"making {target}", file=sys.stderr)
            generate(unfinished)
            shutil.rmtree(target, ignore_errors=True)
            os.replace(unfinished, target)
    return target
