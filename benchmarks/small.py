"""Measures that small queries do not get slower: hundreds, whose time is planning and starting tasks.

Point filters, small joins, one-row aggregates, ``show()``, inline rows, sorts of 100 rows: conversion cannot pay off,
and the planner must leave these queries to Spark. ``python -m benchmarks.small --rounds 5 --json FILE``
"""

from __future__ import annotations

import pickle
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.command_line import configuration, emit_document, make_parser
from benchmarks.engine import Engine
from benchmarks.report import versions
from benchmarks.session import PIPELINE, SPARK

_TEMPLATES: tuple[tuple[str, str, str], ...] = (
    ("point filter", "collect", "select * from people where id = {n}"),
    ("range filter", "collect", "select id, name from people where id between {n} and {n} + 20 and score > 0.5"),
    ("one-row aggregate", "collect", "select count(*), sum(score), max(name) from people where id > {n}"),
    ("small group by", "collect", "select team, count(*), avg(score) from people where id <> {n} group by team"),
    ("small join", "collect", "select p.name, t.title from people p join teams t on p.team = t.team where p.id < {n}"),
    ("join and group", "collect",
     "select t.title, sum(p.score) from people p join teams t on p.team = t.team where p.id > {n} group by t.title"),
    ("semi join", "collect", "select id from people where team in (select team from teams where rank < {n} % 9)"),
    ("top", "collect", "select id, score from people where id <> {n} order by score desc, id limit 5"),
    ("sort of 100 rows", "collect", "select * from teams where rank <> {n} order by title"),
    ("show", "show", "select * from people where id > {n}"),
    ("show a group by", "show", "select team, max(score) from people where id > {n} group by team"),
    ("inline rows", "collect", "select a + {n}, b from values (1, 'x'), (2, 'y'), (3, 'z') as t(a, b) where a > 1"),
    ("inline aggregate", "collect",
     "select b, sum(a + {n}) from values (1, 'x'), (2, 'y'), (3, 'x') as t(a, b) group by b"),
    ("range", "collect", "select sum(id) from range({n}, 10000)"),
    ("limit", "collect", "select id + {n} - {n} from people limit 10"),
    ("scalar subquery", "collect",
     "select id from people where score > (select max(score) from people where id < {n} + 2)"),
    ("distinct", "collect", "select distinct team from people where id > {n}"),
    ("union", "collect", "select id from people where id = {n} union all select rank from teams where rank = {n}"),
    ("window", "collect", "select team, rank() over (order by rank) from teams where rank <> {n}"),
    ("some more rows", "collect", "select kind, count(*), sum(amount) from events where amount > {n} group by kind"),
)  # fmt: skip
_UNORDERED = {"limit", "show"}


def make_tables(folder: Path) -> dict[str, str]:
    """Write people (1000 rows), teams (100 rows) and events (100 000 rows, about 1 MB); return paths by name."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = np.arange(1000)
    m = np.arange(100_000)
    tables = {
        "people": {"id": n, "name": [f"person {i}" for i in n], "team": n % 100, "score": (n * 37 % 1000) / 1000.0},
        "teams": {"team": n[:100], "title": [f"team {i * 7 % 100}" for i in range(100)], "rank": n[:100]},
        "events": {"id": m, "kind": m % 11, "amount": m * 7919 % 10_007},
    }
    paths = {}
    for name, columns in tables.items():
        paths[name] = str(folder / f"{name}.parquet")
        pq.write_table(pa.table(columns), paths[name])
    return paths


def queries(each: int) -> Iterator[tuple[str, str, str]]:
    """Yield name, sink and text of ``each`` variants of every template."""
    for variant in range(each):
        for name, sink, text in _TEMPLATES:
            yield name, sink, text.format(n=7 + 13 * variant)


def measure(conf: dict[str, str], rounds: int, each: int, log: Path | None) -> dict[str, Any]:
    """Run every query on both engines alternately, ``rounds`` times after a warm-up; return medians by template."""
    chosen = list(queries(each))
    times: dict[str, dict[str, list[float]]] = {name: {SPARK: [], PIPELINE: []} for name, *_ in _TEMPLATES}
    converted: set[str] = set()
    different: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        tables = make_tables(Path(folder))
        with Engine(SPARK, conf, log=log) as spark, Engine(PIPELINE, conf, log=log) as pipeline:
            engines = {SPARK: spark, PIPELINE: pipeline}
            for engine in engines.values():
                engine.call("views", tables=tables)
            for round_number in range(rounds + 1):
                for name, sink, sql in chosen:
                    is_first = round_number == 0 and name not in _UNORDERED
                    for label, engine in engines.items():
                        answer = str(Path(folder) / label) if is_first and sink == "collect" else None
                        response = engine.call("run", sql=sql, sink=sink, answer=answer)
                        if round_number:
                            times[name][label].append(response["seconds"])
                        if response["summary"].get("converted"):
                            converted.add(name)
                    if is_first and sink == "collect" and _rows(folder, SPARK) != _rows(folder, PIPELINE):
                        different.add(name)
    return _document(times, converted, different)


def _rows(folder: str, label: str) -> list[Any]:
    with open(Path(folder) / label, "rb") as file:
        _, _, rows = pickle.load(file)
    return sorted(rows, key=repr)


def _document(
    times: dict[str, dict[str, list[float]]], converted: set[str], different: set[str]
) -> dict[str, Any]:
    by_template = {}
    for name, engines in times.items():
        medians = {label: statistics.median(seconds) for label, seconds in engines.items()}
        by_template[name] = {
            "spark_s": round(medians[SPARK], 4),
            "pipeline_s": round(medians[PIPELINE], 4),
            "times_slower": round(medians[PIPELINE] / medians[SPARK], 3),
            "converted": name in converted,
            "equal": name not in different,
        }
    totals = {label: sum(statistics.median(t[label]) for t in times.values()) for label in (SPARK, PIPELINE)}
    return {
        "queries": by_template,
        "summary": {
            "total_times_slower": round(totals[PIPELINE] / totals[SPARK], 3),
            "worst_times_slower": max(entry["times_slower"] for entry in by_template.values()),
            "all_equal": not different,
        },
    }


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark and print the JSON document; the exit status is 1 if an answer differs."""
    parser = make_parser("small", __doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--each", type=int, default=10, help="variants of each of the templates")
    arguments = parser.parse_args(words)
    conf = configuration(arguments, {"spark.driver.memory": "4g"})
    measured = measure(conf, arguments.rounds, arguments.each, arguments.log)
    document = {"meta": {"versions": versions(), "rounds": arguments.rounds, "each": arguments.each}, **measured}
    emit_document(document, arguments.json)
    return 0 if measured["summary"]["all_equal"] else 1


if __name__ == "__main__":
    sys.exit(main())
