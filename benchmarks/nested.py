"""Compares queries over arrays, maps, structs and JSON with Spark's: ``python -m benchmarks.nested --scale 1``.

At scale 1 the tables have a million rows: ``nests`` (arrays of five, a struct, a map, a line of eight words, a document
of ten fields) and ``wide``, a struct of 40 leaves.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.queries import choose_from
from benchmarks.suite import Suite
from benchmarks.table_files import cache_folder, files, make_once

_TABLES = ("nests", "wide")
_ROWS = 1_000_000
_CHUNK = 250_000
_LEAVES = 40
_WORDS = [f"f{place}" for place in range(7)]
#: The schema of the documents.
DOCUMENTS = "id bigint, name string, score double, " + ", ".join(f"{word} string" for word in _WORDS)

_QUERIES = {
    "element": "select sum(a[0]), sum(a[4]) from nests",
    "contains": "select count(*) from nests where array_contains(a, 3L)",
    "position": "select sum(array_position(a, 3L)) from nests",
    "extremes": "select sum(array_max(a)), sum(array_min(a)) from nests",
    "sort": "select sum(sort_array(a)[2]) from nests",
    "distinct": "select sum(size(array_distinct(a))), sum(size(array_union(a, array(k)))) from nests",
    "fields": "select sum(s.x), max(s.y) from nests",
    "map value": "select sum(m['k']), sum(size(map_keys(m))) from nests",
    "transform": "select sum(aggregate(transform(a, x -> x + 1), 0L, (p, x) -> p + coalesce(x, 0L))) from nests",
    "filter": "select sum(size(filter(a, x -> x % 2 = 0))) from nests",
    "explode": "select sum(x) from (select explode(a) as x from nests)",
    "explode with rows": "select count(*), sum(x), sum(id), max(v) from (select id, v, explode(a) as x from nests)",
    "words": "select w, count(*) from (select explode(split(line, ' ')) as w from nests) group by w",
    "group by struct": "select count(*), max(c) from (select struct(k, s.y) g, count(*) as c from nests group by 1)",
    "group by array": "select count(*), max(c) from (select count(*) as c from nests group by slice(a, 1, 2))",
    "distinct rows": "select count(*) from (select distinct k, s from nests)",
    "join by struct": """select count(*), sum(n.id) from nests n join (select distinct struct(k, s.y) as g from nests
        where id % 10 = 0) b on struct(n.k, n.s.y) = b.g""",
    "top by struct": "select id, s.y from nests order by struct(s.y, v) desc limit 100",
    "collect_list": "select count(*), sum(size(l)) from (select collect_list(id) as l from nests group by k)",
    "collect structs": """select count(*), sum(size(l))
        from (select collect_list(struct(id, v, s.y)) as l from nests group by k)""",
    "carry": "select max(size(a)), max(s.y), count(m) from (select * from nests order by v desc limit 100000)",
    "json path": "select sum(length(get_json_object(doc, '$.name'))), sum(get_json_object(doc, '$.id')) from nests",
    "json tuple": "select sum(c0), max(c1), max(c2) from (select json_tuple(doc, 'id', 'name', 'f5') from nests)",
    "from_json": f"""select sum(d.id), max(d.name), sum(d.score), {", ".join(f"max(d.{word})" for word in _WORDS)}
        from (select from_json(doc, '{DOCUMENTS}') as d from nests)""",
    "leaves": "select sum(w.f3), sum(w.f17), max(w.f30) from wide",
}


def make_nests(first: int, rows: int, groups: int) -> pa.Table:
    """Return rows ``first`` … of ``nests``, whose column ``k`` has about as many values as ``groups``."""
    ids = np.arange(first, first + rows)
    dice = np.random.default_rng(first)
    elements = dice.integers(0, 100, rows * 5)
    offsets = pa.array(np.arange(0, rows * 5 + 1, 5, dtype=np.int32))
    texts = pa.array(ids).cast(pa.string())
    names = pc.binary_join_element_wise("name", pa.array(ids % 1000).cast(pa.string()), "")
    numbers = [pa.array(dice.zipf(1.5, rows) % 5000).cast(pa.string()) for _ in range(8)]
    words = [pc.binary_join_element_wise("w", number, "") for number in numbers]
    keys, counts = pa.array(np.tile(["k", "j"], rows)), pa.array(dice.integers(0, 9, rows * 2))
    pairs = pa.array(np.arange(0, rows * 2 + 1, 2, dtype=np.int32))
    amounts = dice.random(rows).round(4)
    fields: list[Any] = ['{"id":', texts, ',"name":"', names, '","score":', pa.array(amounts).cast(pa.string())]
    for place, word in enumerate(_WORDS):
        fields += [f',"{word}":"', words[place], '"']
    return pa.table(
        {
            "id": ids,
            "k": ids * 7919 % groups,
            "v": amounts,
            "a": pa.ListArray.from_arrays(offsets, pa.array(elements, mask=dice.random(elements.size) < 0.1)),
            "s": pa.StructArray.from_arrays([pa.array(ids), names], names=["x", "y"]),
            "m": pa.MapArray.from_arrays(pairs, keys, counts),
            "line": pc.binary_join_element_wise(*words, " "),
            "doc": pc.binary_join_element_wise(*fields, "}", ""),
        }
    )


def _wide(first: int, rows: int) -> pa.Table:
    dice = np.random.default_rng(first)
    leaves = [pa.array(dice.integers(0, 1000, rows)) for _ in range(_LEAVES)]
    names = [f"f{number}" for number in range(_LEAVES)]
    return pa.table({"w": pa.StructArray.from_arrays(leaves, names=names)})


def tables(scale: float, folder: Path | None) -> Mapping[str, str]:
    """Make the tables of a scale unless they exist; return their files."""
    total = int(_ROWS * scale)

    def generate(target: Path) -> None:
        target.mkdir(parents=True)
        for name, path in files(target, _TABLES).items():
            writer = None
            for first in range(0, total, _CHUNK):
                rows = min(_CHUNK, total - first)
                made = make_nests(first, rows, max(total // 40, 1)) if name == "nests" else _wide(first, rows)
                writer = writer or pq.ParquetWriter(path, made.schema)
                writer.write_table(made)
            if writer is not None:
                writer.close()

    return files(make_once(folder or cache_folder("nested", scale), _TABLES, generate), _TABLES)


NESTED = Suite(
    name="nested",
    description=__doc__,
    query_help="names, as explode",
    tables=tables,
    choose=lambda text, _scale: choose_from(_QUERIES, text),
    has_oracle=False,
)

if __name__ == "__main__":
    sys.exit(NESTED.main())
