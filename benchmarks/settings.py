"""Compares two settings or two revisions of the engine: two sessions of the same cores run each query in turn.

``ratio`` is the time with the first settings divided by that with the second, of median warm runs; ``workers_mib`` the
resident memory of the Python workers at most. Settings of the first session are given as ``--first K=V``, of the second
as ``--second K=V``. Unix domain sockets instead of TCP in the second session; a former commit, cloned to a folder, in
the first::

    python -m benchmarks.settings --scale 10 --data FOLDER --second spark.python.unix.domain.socket.enabled=true
    python -m benchmarks.settings --scale 10 --data FOLDER --first-checkout FOLDER
    python -m benchmarks.settings --suite tpcds --data FOLDER --first-checkout FOLDER
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import answers, report
from benchmarks.command_line import configuration, emit_document, make_parser, settings_of
from benchmarks.engine import ROOT, Engine, EngineError
from benchmarks.queries import Query
from benchmarks.run import Measurement, run_once
from benchmarks.session import PIPELINE
from benchmarks.tpcds.suite import TPCDS
from benchmarks.tpch.suite import TPCH

_SUITES = {"tpch": TPCH, "tpcds": TPCDS}


def compare(query: Query, engines: Mapping[str, Engine], runs: int) -> dict[str, Any]:
    """Run ``query`` in both sessions alternately; return times, memory and whether the answers are equal."""
    measured = {name: Measurement() for name in engines}
    for engine in engines.values():
        engine.memory.reset()
    for number in range(runs):
        for name, engine in engines.items():
            run_once(query, engine, measured[name], is_first=number == 0)
    first, second = measured.values()
    if first.answer is None or second.answer is None or first.error or second.error:
        raise EngineError(first.error or second.error or f"query {query.name} gave no answer")
    parts = {
        name: report.timing(found.seconds) | {"workers_mib": engines[name].memory.peak_mib["workers"]}
        for name, found in measured.items()
    }
    return parts | {
        "ratio": report.ratio(first.seconds, second.seconds),
        "equal": answers.difference(second.answer, first.answer, query.sql) is None,
    }


def summary(queries: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    """Return the totals of time and memory over all queries, and the ratio of the first of ``names`` to the second."""
    first, second = names
    totals = {name: sum(report.warm(q[name]) for q in queries.values()) for name in names}
    memory = {name: max(q[name]["workers_mib"] for q in queries.values()) for name in names}
    less = [name for name, q in queries.items() if q[first]["workers_mib"] < q[second]["workers_mib"]]
    return {
        "geomean_ratio": round(report.geomean(q["ratio"] for q in queries.values()), 3),
        "total_ratio": round(totals[first] / totals[second], 3),
        "total_warm_s": {name: round(total, 3) for name, total in totals.items()},
        "most_workers_mib": memory,
        "less_memory_in": less,
        "all_equal": all(q["equal"] for q in queries.values()),
    }


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two sessions: its settings, and the clone of the repository whose code it runs."""

    settings: Mapping[str, str]
    checkout: Path = ROOT


def run(arguments: argparse.Namespace, sides: Mapping[str, Side]) -> int:
    """Compare the two sessions and print the JSON document; return 1 if an answer differs, else 0."""
    suite = _SUITES[arguments.suite]
    queries = suite.choose(arguments.queries, arguments.scale)
    tables = suite.tables(arguments.scale, arguments.data)
    own = {"spark.driver.memory": "6g", "spark.driver.host": "localhost"}
    conf = configuration(arguments, own | dict(suite.settings))
    results: dict[str, Any] = {}
    with contextlib.ExitStack() as stack:
        engines = {
            name: stack.enter_context(
                Engine(PIPELINE, conf | dict(side.settings), log=arguments.log, checkout=side.checkout)
            )
            for name, side in sides.items()
        }
        for engine in engines.values():
            engine.call("views", tables=tables)
        for query in queries:
            results[query.name] = compare(query, engines, arguments.runs)
            print(query.name, results[query.name], file=sys.stderr, flush=True)
    asked = {name: getattr(arguments, name) for name in ("suite", "scale", "cores", "runs")}
    meta = {"versions": report.versions(), **asked}
    document = {"meta": meta, "queries": results, "summary": summary(results, list(sides))}
    emit_document(document, arguments.json)
    return 0 if document["summary"]["all_equal"] else 1


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit status is 1 if an answer differs."""
    parser = make_parser("settings", __doc__)
    TPCH.add_options(parser)
    parser.add_argument("--suite", choices=sorted(_SUITES), default="tpch", help="whose queries (default tpch)")
    for name in ("first", "second"):
        parser.add_argument(f"--{name}", action="append", default=[], metavar="K=V", help=f"of the {name} session")
        parser.add_argument(f"--{name}-checkout", type=Path, default=ROOT, help=f"clone that the {name} session runs")
    arguments = parser.parse_args(words)
    sides = {
        "first": Side(settings_of(arguments.first), arguments.first_checkout.resolve()),
        "second": Side(settings_of(arguments.second), arguments.second_checkout.resolve()),
    }
    return run(arguments, sides)


if __name__ == "__main__":
    sys.exit(main())
