"""Measures the first query of a session without any compiled kernel, and with a baked cache of all of them.

``fresh``: an empty cache, as on a new machine. ``baked``: an empty cache of the user's, and one that
``pyspark-pipeline warm --into`` made for a portable processor. ``cached``: the user's cache is complete. Each query is
the first of a session of its own; ``over_spark_s`` compares the time from the start of the program to the answer with
vanilla Spark's, so it includes what the extension adds to the start of a session. All times are medians of ``--runs``
runs, in which the cases alternate.
``python -m benchmarks.first_query --queries 1,6,3 --runs 3 --json FILE``
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.command_line import configuration, emit_document, make_parser
from benchmarks.engine import Engine
from benchmarks.queries import Query
from benchmarks.report import versions
from benchmarks.session import PIPELINE, SPARK
from benchmarks.tpch import data
from benchmarks.tpch.queries import choose

_CASES = (SPARK, "cached", "baked", "fresh")
_LONGEST_WAIT = 300.0  # seconds
_OWN, _BAKED = "NUMBA_CACHE_DIR", "PYSPARK_PIPELINE_KERNELS"


def run_command(*words: str) -> float:
    """Run ``pyspark-pipeline`` with ``words``; return its seconds of CPU, children included."""
    before = os.times()
    command = [sys.executable, "-m", "pyspark_pipeline.cli.main", *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def measure(case: str, query: Query, conf: dict[str, str], tables: dict[str, str], log: Path | None) -> dict[str, Any]:
    """Run ``query`` as the first of a session, then once more; return the times in seconds."""
    began = time.perf_counter()
    with Engine(SPARK if case == SPARK else PIPELINE, conf, log=log) as engine:
        engine.call("views", tables=tables)
        first = engine.call("run", sql=query.sql, sink=query.sink)
        total = time.perf_counter() - began
        second = engine.call("run", sql=query.sql, sink=query.sink)
    return {
        "total_s": round(total, 3),
        "session_start_s": round(engine.started["start_s"], 3),
        "first_query_s": round(first["seconds"], 3),
        "second_query_s": round(second["seconds"], 3),
        "converted": first["summary"].get("converted"),
    }


def await_background(own: Path) -> None:
    """Wait until the background compilation, which outlives the session, is complete."""
    until = time.monotonic() + _LONGEST_WAIT
    while not any(own.rglob("complete")) and time.monotonic() < until:
        time.sleep(0.5)


def measure_all(
    queries: Sequence[Query], conf: dict[str, str], tables: dict[str, str], scratch: Path, runs: int, log: Path | None
) -> dict[str, dict[str, Any]]:
    """Return the medians of ``runs`` measurements of every query in every case; by query, then by case."""
    results: dict[str, dict[str, Any]] = {}
    for query in queries:
        measured: dict[str, list[dict[str, Any]]] = {case: [] for case in _CASES}
        for run, case in product(range(runs), _CASES):
            own = scratch / ("cached" if case == "cached" else f"empty-{query.name}-{case}-{run}")
            os.environ[_OWN] = str(own)
            os.environ[_BAKED] = str(scratch / "baked") if case == "baked" else ""
            measured[case].append(measure(case, query, conf, tables, log))
            if case == "fresh":
                await_background(own)
        found = results[query.name] = {case: medians(each) for case, each in measured.items()}
        for case in _CASES:
            if case != SPARK:
                found[case]["over_spark_s"] = round(found[case]["total_s"] - found[SPARK]["total_s"], 3)
    return results


def medians(measured: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the median of every number of seconds; other values are those of the first measurement."""
    first = measured[0]
    return {
        name: round(median(each[name] for each in measured), 3) if name.endswith("_s") else first[name]
        for name in first
    }


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark and print the JSON document."""
    parser = make_parser("first_query", __doc__)
    parser.add_argument("--queries", default="1,6,3", help="TPC-H queries, as in benchmarks.tpch")
    parser.add_argument("--scale", type=float, default=0.01)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args(words)
    # the cost rule would leave such small queries to Spark
    conf = configuration(arguments, {"spark.pysparkPipeline.cost.enabled": "false"})
    tables = data.tables(data.make(arguments.scale))
    queries = choose(arguments.queries, arguments.scale)
    kept = {name: os.environ.get(name) for name in (_OWN, _BAKED)}
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        os.environ |= {_OWN: str(scratch / "cached"), _BAKED: ""}
        compiling = {"compile_cpu_s": run_command("warm")}
        compiling["bake_cpu_s"] = run_command("warm", "--into", str(scratch / "baked"))
        results = measure_all(queries, conf, tables, scratch, arguments.runs, arguments.log)
        os.environ |= {name: value for name, value in kept.items() if value is not None}
    largest = {case: max(found[case]["over_spark_s"] for found in results.values()) for case in _CASES if case != SPARK}
    document = {
        "meta": {"versions": versions(), "runs": arguments.runs},
        **compiling,
        "queries": results,
        "most_over_spark_s": largest,
    }
    emit_document(document, arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
