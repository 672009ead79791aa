"""Compares one fragment instance of two cores with two of one: TPC-H with ``spark.task.cpus`` of all cores, and of 1.

Both sessions have the same cores and run each query in turn. ``ratio`` is the time with one large instance divided by
that with several small ones, of median warm runs; ``workers_mib`` the resident memory of the Python workers at most.
``python -m benchmarks.instances --scale N --data FOLDER [--queries 1-22] [--runs 3] [--json FILE]``
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import answers
from benchmarks.command_line import configuration, give, make_parser
from benchmarks.engine import Engine, EngineError
from benchmarks.session import PIPELINE
from benchmarks.tpch import data, report
from benchmarks.tpch.options import add_options
from benchmarks.tpch.queries import Query, choose
from benchmarks.tpch.run import Measurement, run_once

ONE, SEVERAL = "one_instance", "an_instance_a_core"


def compare(query: Query, engines: Mapping[str, Engine], runs: int) -> dict[str, Any]:
    """Run ``query`` in both sessions in turn; give the times, the memory and whether the answers are equal."""
    measured = {name: Measurement() for name in engines}
    for engine in engines.values():
        engine.memory.reset()
    for number in range(runs):
        for name, engine in engines.items():
            run_once(query, engine, measured[name], is_first=number == 0)
    one, several = measured[ONE], measured[SEVERAL]
    if one.answer is None or several.answer is None or one.error or several.error:
        raise EngineError(one.error or several.error or f"query {query.name} gave no answer")
    parts = {
        name: report.timing(found.seconds) | {"workers_mib": engines[name].memory.peak_mib["workers"]}
        for name, found in measured.items()
    }
    return parts | {
        "ratio": report.ratio(one.seconds, several.seconds),
        "equal": answers.difference(several.answer, one.answer, query.sql) is None,
    }


def summary(queries: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Sum up: the time and the memory of all queries, one instance by several."""
    totals = {name: sum(report.warm(q[name]) for q in queries.values()) for name in (ONE, SEVERAL)}
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
    add_options(result)
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
