"""Compares queries over files of text, CSV and JSON with Spark's: ``python -m benchmarks.text_files --scale 1``.

At scale 1 each file has a million lines: ``lines.txt`` of eight words, ``orders.csv`` of ten columns (110 MB) and
``documents.json`` of ten fields.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pv

from benchmarks.nested import DOCUMENTS, make_nests
from benchmarks.queries import choose_from
from benchmarks.suite import Suite
from benchmarks.table_files import cache_folder, files, make_once

_TABLES = ("lines.txt", "orders.csv", "documents.json")
_ROWS = 1_000_000
_CHUNK = 250_000
_ORDERS = """id bigint, day date, seen timestamp, price decimal(12,2), tax double, quantity int, kind string,
    name string, flag boolean, note string"""

_VIEWS = (
    "create temporary view lines (line string) using text options (path '{lines.txt}')",
    f"create temporary view orders ({_ORDERS}) using csv options (path '{{orders.csv}}', header true)",
    f"create temporary view documents ({DOCUMENTS}) using json options (path '{{documents.json}}')",
)

_QUERIES = {
    "words": "select w, count(*) from (select explode(split(line, ' ')) as w from lines) group by w",
    "lines": "select count(*), sum(length(line)), count_if(line like '%w7 %') from lines",
    "csv aggregates": """select kind, count(*), sum(price), avg(tax), min(day), max(seen), sum(quantity), max(name),
        count_if(flag), max(note) from orders group by kind""",
    "csv sum": "select sum(price), sum(quantity) from orders",
    "csv filter": "select count(*), sum(price) from orders where day < date'1995-01-01' and quantity < 10",
    "csv text": "select max(note), max(name) from orders",
    "csv count": "select count(*) from orders",
    "json aggregates": "select f0, count(*), sum(id), avg(score), max(name), max(f6) from documents group by f0",
    "json sum": "select sum(id), sum(score) from documents",
    "json count": "select count(*) from documents",
}


def _orders(first: int, rows: int) -> pa.Table:
    dice = np.random.default_rng(first)
    ids = np.arange(first, first + rows)
    days = pa.array(dice.integers(8000, 10500, rows).astype(np.int32)).cast(pa.date32())
    seconds = pa.array(dice.integers(0, 10**9, rows)).cast(pa.timestamp("s"))
    names = pc.binary_join_element_wise("Customer#", pa.array(ids % 150_000).cast(pa.string()), "")
    words = [pc.binary_join_element_wise("word", pa.array(dice.integers(0, 999, rows)).cast(pa.string()), "")] * 2
    return pa.table(
        {
            "id": ids,
            "day": days,
            "seen": pc.strftime(seconds, "%Y-%m-%d %H:%M:%S"),
            "price": pa.array(dice.integers(0, 10**8, rows) / 100).cast(pa.decimal128(12, 2)),
            "tax": dice.random(rows).round(4),
            "quantity": pa.array(dice.integers(1, 51, rows)),
            "kind": pa.DictionaryArray.from_arrays(dice.integers(0, 5, rows), list("ABCDE")).cast(pa.string()),
            "name": names,
            "flag": dice.random(rows) < 0.3,
            "note": pc.binary_join_element_wise("said, ", *words, " "),
        }
    )


def _tables(scale: float, folder: Path | None) -> Mapping[str, str]:
    """Make the files of a scale unless they exist; return them."""
    total = int(_ROWS * scale)

    def generate(target: Path) -> None:
        target.mkdir(parents=True)
        paths = files(target, _TABLES, "")
        with open(paths["lines.txt"], "wb") as lines, open(paths["documents.json"], "wb") as documents:
            with open(paths["orders.csv"], "wb") as orders:
                for first in range(0, total, _CHUNK):
                    rows = min(_CHUNK, total - first)
                    nests = make_nests(first, rows, max(total // 40, 1))
                    for file, column in ((lines, "line"), (documents, "doc")):
                        file.write("\n".join(nests[column].to_pylist()).encode() + b"\n")
                    pv.write_csv(_orders(first, rows), orders, pv.WriteOptions(include_header=first == 0))

    return files(make_once(folder or cache_folder("text_files", scale), _TABLES, generate, ""), _TABLES, "")


def _views(tables: Mapping[str, str]) -> Sequence[str]:
    views = []
    for text in _VIEWS:
        for name, path in tables.items():
            text = text.replace(f"{{{name}}}", path)
        views.append(text)
    return views


TEXT_FILES = Suite(
    name="text_files",
    description=__doc__,
    query_help="names, as words",
    tables=_tables,
    choose=lambda text, _scale: choose_from(_QUERIES, text),
    has_oracle=False,
    views=_views,
)

if __name__ == "__main__":
    sys.exit(TEXT_FILES.main())
