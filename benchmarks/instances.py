"""Compares one fragment instance of two cores with two of one: TPC-H with ``spark.task.cpus`` of all cores, and of 1.

Both sessions have the same cores and run each query in turn. ``ratio`` is the time with one large instance divided by
that with several small ones, of median warm runs; ``workers_mib`` the resident memory of the Python workers at most.
``python -m benchmarks.instances --scale N --data FOLDER [--queries 1-22] [--runs 3] [--json FILE]``
"""

from __future__ import annotations

import argparse
import contextlib
import pickle
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import answers
from benchmarks.command_line import configuration, give, make_parser
from benchmarks.engine import Engine
from benchmarks.session import PIPELINE
from benchmarks.tpch import data, report
from benchmarks.tpch.queries import Query, choose

ONE, SEVERAL = "one_instance", "an_instance_a_core"


def compare(query: Query, engines: Mapping[str, Engine], runs: int) -> dict[str, Any]:
    """Run ``query`` in both sessions in turn; give the times, the memory and whether the answers are equal."""
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    found: dict[str, answers.Answer] = {}
    for engine in engines.values():
        engine.memory.reset()
    with tempfile.NamedTemporaryFile() as file:
        for number in range(runs):
            for name, engine in engines.items():
                answer = file.name if number == 0 else None
                seconds[name].append(engine.call("run", sql=query.sql, sink=query.sink, answer=answer)["seconds"])
                if answer is not None:
                    columns, schema, rows = pickle.loads(Path(answer).read_bytes())
                    found[name] = answers.Answer(columns=columns, schema=schema, rows=rows)
    warm = {name: statistics.median(taken[1:] or taken) for name, taken in seconds.items()}
    return {
        name: report.timing(taken) | {"workers_mib": engines[name].memory.peak_mib["workers"]}
        for name, taken in seconds.items()
    } | {
        "ratio": round(warm[ONE] / warm[SEVERAL], 3),
        "equal": answers.difference(found[SEVERAL], found[ONE], query.sql) is None,
    }


def summary(queries: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Sum up: the time and the memory of all queries, one instance by several."""
    totals = {
        name: sum(statistics.median(q[name]["warm_s"] or [q[name]["cold_s"]]) for q in queries.values())
        for name in (ONE, SEVERAL)
    }
    memory = {name: max(q[name]["workers_mib"] for q in queries.values()) for name in (ONE, SEVERAL)}
    less = [name for name, q in queries.items() if q[ONE]["workers_mib"] < q[SEVERAL]["workers_mib"]]
    return {
        "total_ratio": round(totals[ONE] / totals[SEVERAL], 3),
        "total_warm_s": {name: round(total, 3) for name, total in totals.items()},
        "most_workers_mib": memory,
        "less_memory_in": less,
        "all_equal": all(q["equal"] for q in queries.values()),
    }


def parser() -> argparse.ArgumentParser:
    """Build the parser."""
    result = make_parser("instances", __doc__)
    result.add_argument("--scale", type=float, default=1.0, help="scale factor (default 1)")
    result.add_argument("--queries", help="comma-separated, ranges as 1-5 (default 1-22)")
    result.add_argument("--runs", type=int, default=3, help="runs of each query in each session, the first cold")
    result.add_argument("--data", type=Path, help="folder of the tables; made there if missing")
    return result


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark and print the JSON document; the exit status is 1 where an answer differs."""
    arguments = parser().parse_args(words)
    queries = choose(arguments.queries, arguments.scale)
    tables = data.tables(data.make(arguments.scale, arguments.data))
    conf = configuration(arguments, {"spark.driver.memory": "6g", "spark.driver.host": "localhost"})
    cpus = {ONE: str(arguments.cores), SEVERAL: "1"}
    results: dict[str, Any] = {}
    with contextlib.ExitStack() as stack:
        engines = {
            name: stack.enter_context(Engine(PIPELINE, conf | {"spark.task.cpus": number}, log=arguments.log))
            for name, number in cpus.items()
        }
        for engine in engines.values():
            engine.call("views", tables=tables)
        for query in queries:
            results[query.name] = compare(query, engines, arguments.runs)
            print(query.name, results[query.name], file=sys.stderr, flush=True)
    meta = {"versions": report.versions(), "scale": arguments.scale, "cores": arguments.cores, "runs": arguments.runs}
    document = {"meta": meta, "queries": results, "summary": summary(results)}
    give(document, arguments.json)
    return 0 if document["summary"]["all_equal"] else 1


if __name__ == "__main__":
    sys.exit(main())
