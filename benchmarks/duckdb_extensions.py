"""DuckDB with its extension of TPC-H or TPC-DS: generators, texts of queries, answers.

The packages ``duckdb-extension-tpch`` and ``duckdb-extension-tpcds`` bring the extensions as files, so nothing is
downloaded.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any


def connect(name: str, database: str | Path = ":memory:", config: dict[str, Any] | None = None) -> Any:
    """Return a connection to ``database`` that has loaded the extension ``name``, ``tpch`` or ``tpcds``."""
    import duckdb

    package: Any = importlib.import_module(f"duckdb_extension_{name}")
    folder = Path(package.__file__).parent / "extensions"
    extension = next(folder.glob(f"v{duckdb.__version__}/{name}.duckdb_extension"))
    connection = duckdb.connect(str(database), config=config or {})
    connection.execute(f"load '{extension}'")
    return connection
