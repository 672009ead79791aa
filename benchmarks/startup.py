"""Measures the overhead of a stage and a session over vanilla Spark without any work to accelerate.

``stage``: an empty two-task stage, warm. ``first query``: the same query as the first of a fresh session.
``python -m benchmarks.startup --runs 20 --sessions 3 --json FILE``
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.command_line import configuration, emit_document, make_parser
from benchmarks.engine import Engine
from benchmarks.report import versions
from benchmarks.session import PIPELINE, SPARK

_WARM_UP = 5
_STAGE = "select a + 1 as b from empty_stage where a >= 0"


def make_table(folder: Path) -> dict[str, str]:
    """Write a table of two files of one row each, so that a scan of it has two tasks; return its path by view name."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for number in (0, 1):
        pq.write_table(pa.table({"a": [number]}), folder / f"part-{number}.parquet")
    return {"empty_stage": str(folder)}


def measure_session(
    name: str, conf: dict[str, str], tables: dict[str, str], runs: int, log: Path | None
) -> dict[str, Any]:
    """Return the times of the first query of a fresh session and of ``runs`` warm ones, in seconds."""
    with Engine(name, conf, log=log) as engine:
        engine.call("views", tables=tables)
        first = engine.call("run", sql=_STAGE, sink="collect")
        for _ in range(_WARM_UP):
            engine.call("run", sql=_STAGE, sink="collect")
        warm = [engine.call("run", sql=_STAGE, sink="collect")["seconds"] for _ in range(runs)]
        return {
            "session_start_s": engine.started["start_s"],
            "first_query_s": first["seconds"],
            "stage_s": statistics.median(warm),
            "converted": first["summary"].get("converted"),
        }


def overhead(sessions: dict[str, list[dict[str, Any]]]) -> dict[str, float]:
    """Return our median minus vanilla Spark's, in seconds."""
    keys = ("session_start_s", "first_query_s", "stage_s")
    medians = {n: {key: statistics.median(s[key] for s in sessions[n]) for key in keys} for n in sessions}
    return {key: round(medians[PIPELINE][key] - medians[SPARK][key], 4) for key in keys}


def main(words: Sequence[str] | None = None) -> int:
    """Run the benchmark on sessions of both engines alternately, and print the JSON document."""
    parser = make_parser("startup", __doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--sessions", type=int, default=3)
    arguments = parser.parse_args(words)
    # the cost rule would leave this query to Spark
    conf = configuration(arguments, {"spark.pysparkPipeline.cost.enabled": "false"})
    sessions: dict[str, list[dict[str, Any]]] = {SPARK: [], PIPELINE: []}
    with tempfile.TemporaryDirectory() as folder:
        tables = make_table(Path(folder))
        for _ in range(arguments.sessions):
            for name, measured in sessions.items():
                measured.append(measure_session(name, conf, tables, arguments.runs, arguments.log))
    document = {"meta": {"versions": versions()}, "sessions": sessions, "overhead_s": overhead(sessions)}
    emit_document(document, arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
