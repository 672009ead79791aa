"""Runs hundreds of small queries of many kinds in one session and reports growth: ``python -m benchmarks.soak``.

Every few queries, threads, memory, files and processes are read (:mod:`~.watch`); a linear fit of the samples after the
first third detects growth. ``--compare`` does the same with the extension switched off, because measures that also grow
there are Spark's own. The exit status is 1 if a measure grew with the extension and not without it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from benchmarks.command_line import configuration, emit_document, make_parser
from benchmarks.report import versions
from benchmarks.session import PIPELINE, SPARK
from benchmarks.soak.queries import KINDS
from benchmarks.soak.run import in_a_process
from benchmarks.soak.trend import table
from benchmarks.soak.watch import SPILLED, TOLERANCES

_CONF = {
    "spark.driver.memory": "2g",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.ansi.enabled": "true",
    "spark.executor.pyspark.memory": "768m",  # so that the large ones spill
    "spark.pysparkPipeline.cost.enabled": "false",  # which would leave queries this small to Spark
    # small limits for the ended queries that Spark's UI retains: soon reached, so that they do not look like a leak
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "120",  # more than those of a round: their spilled bytes are read
    "spark.ui.retainedTasks": "200",
    "spark.sql.ui.retainedExecutions": "20",
}


def main(words: Sequence[str] | None = None) -> int:
    """Run the soak, print its tables and verdicts, and write the JSON document."""
    parser = make_parser("soak", __doc__)
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--every", type=int, default=len(KINDS), help="queries per sample (default: one round)")
    parser.add_argument("--minutes", type=float, default=120, help="stop at the first sample after this")
    parser.add_argument("--compare", action="store_true", help="run again with the extension switched off")
    arguments = parser.parse_args(words)
    conf = configuration(arguments, _CONF)
    off = conf | {"spark.pysparkPipeline.enabled": "false"}
    runs = {PIPELINE: conf} | ({SPARK: off} if arguments.compare else {})
    document: dict[str, Any] = {"meta": {"versions": versions(), "kinds": list(KINDS)}}
    with ThreadPoolExecutor() as sessions:  # at once: nothing is timed
        limits = (arguments.queries, arguments.every, arguments.minutes, arguments.log)
        running = {name: sessions.submit(in_a_process, settings, *limits) for name, settings in runs.items()}
    for name, run in running.items():
        document[name] = run.result()
        print(name, table(document[name]["samples"], ["seconds", SPILLED, *TOLERANCES]), sep="\n")
    emit_document(document, arguments.json)
    for name in runs:
        print(*(f"{name}: {line}" for line in document[name]["verdict"]), sep="\n")
    return 1 if _own(document) else 0


def _own(document: Mapping[str, Any]) -> list[str]:
    """Return the measures that grew with the extension and not without it."""
    without = document.get(SPARK, {"trends": {}})["trends"]
    return [
        name
        for name, line in document[PIPELINE]["trends"].items()
        if line["grew"] and not without.get(name, {"grew": False})["grew"]
    ]


if __name__ == "__main__":
    sys.exit(main())
