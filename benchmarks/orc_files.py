"""Compares queries over an ORC file with Spark's: ``python -m benchmarks.orc_files --scale 1``.

At scale 1 the file has six million rows of seven columns, compressed by Zstandard, in stripes as large as Spark's.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.orc as orc

from benchmarks.queries import choose_from
from benchmarks.suite import Suite
from benchmarks.table_files import cache_folder, files, make_once

_TABLES = ("sales.orc",)
_ROWS = 6_000_000
_CHUNK = 500_000

_QUERIES = {
    "aggregates": """select kind, count(*), sum(price), avg(tax), min(day), max(seen), sum(quantity), max(id)
        from sales group by kind""",
    "sum": "select sum(price), sum(quantity) from sales",
    "filter": "select count(*), sum(price) from sales where day < date'1995-01-01' and quantity < 10",
    "pruned": "select count(*), sum(price) from sales where id between 1000000 and 1001000",
    "text": "select kind, max(day) from sales where kind <> 'kind 7' group by kind",
    "times": "select max(seen), count_if(seen > timestamp'2000-01-01') from sales",
    "count": "select count(*) from sales",
}


def _sales(first: int, rows: int) -> pa.Table:
    dice = np.random.default_rng(first)
    kinds = [f"kind {number}" for number in range(25)]
    return pa.table(
        {
            "id": np.arange(first, first + rows),
            "day": pa.array(dice.integers(8000, 10500, rows).astype(np.int32)).cast(pa.date32()),
            "seen": pa.array(dice.integers(0, 10**15, rows)).cast(pa.timestamp("us")),
            "price": pa.array(dice.integers(0, 10**8, rows) / 100).cast(pa.decimal128(12, 2)),
            "tax": dice.random(rows).round(4),
            "quantity": pa.array(dice.integers(1, 51, rows).astype(np.int32)),
            "kind": pa.DictionaryArray.from_arrays(dice.integers(0, len(kinds), rows), kinds).cast(pa.string()),
        }
    )


def _tables(scale: float, folder: Path | None) -> Mapping[str, str]:
    """Make the file of a scale unless it exists; return it."""
    total = int(_ROWS * scale)

    def generate(target: Path) -> None:
        target.mkdir(parents=True)
        path = files(target, _TABLES, "")["sales.orc"]
        with orc.ORCWriter(path, compression="zstd", dictionary_key_size_threshold=0.8) as writer:
            for first in range(0, total, _CHUNK):
                writer.write(_sales(first, min(_CHUNK, total - first)))

    return files(make_once(folder or cache_folder("orc_files", scale), _TABLES, generate, ""), _TABLES, "")


def _views(tables: Mapping[str, str]) -> Sequence[str]:
    return (f"create temporary view sales using orc options (path '{tables['sales.orc']}')",)


ORC_FILES = Suite(
    name="orc_files",
    description=__doc__,
    query_help="names, as sum",
    tables=_tables,
    choose=lambda text, _scale: choose_from(_QUERIES, text),
    has_oracle=False,
    views=_views,
)

if __name__ == "__main__":
    sys.exit(ORC_FILES.main())
