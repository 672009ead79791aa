"""A job that prints, as JSON lines, the results of a query on the available executors, and their Python.

It imports nothing of the package, which may not be importable here.

``late`` starts a long query, creates a flag file for the test, waits for a second executor, and runs further queries.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tests.support.processes import wait_until

_QUERY = "SELECT id % 7 AS k, count(*) AS n, sum(id) AS s FROM range(0, {rows}, 1, {parts}) GROUP BY 1"
_STRICT = "spark.pysparkPipeline.strict"


def _print_record(what: str, **fields: Any) -> None:
    print(json.dumps({"what": what, **fields}), flush=True)


def _run(what: str, frame: DataFrame) -> None:
    try:
        rows = sorted([*row] for row in frame.collect())
    except Exception as error:  # printed for the test to judge
        _print_record(what, error=str(error))
        return
    jvm: Any = frame.sparkSession._jvm
    report = jvm.org.apache.spark.sql.pysparkpipeline.PlanReport
    found = json.loads(report.json(frame._jdf.queryExecution().executedPlan()))
    _print_record(what, rows=rows, converted=found["converted"], operators=found["operators"], reasons=found["reasons"])


def _query(spark: SparkSession, rows: int = 1000, parts: int = 8) -> DataFrame:
    return spark.sql(_QUERY.format(rows=rows, parts=parts))


def _pythons(spark: SparkSession) -> list[str]:
    """Return the prefixes of the interpreters that run Spark's own Python functions on both executors."""
    found: set[tuple[int, str]] = set()

    def has_both() -> bool:
        tasks = spark.sparkContext.parallelize(range(8), 8)
        found.update(tasks.map(lambda _: (os.getppid(), sys.prefix)).collect())  # an executor's workers have one parent
        return len({parent for parent, _ in found}) >= 2

    wait_until(has_both, "both executors should run functions", 240)
    return sorted({prefix for _, prefix in found})


def _await_report(spark: SparkSession) -> None:
    """Wait until an executor has reported: on a loaded machine the first query may not wait that long."""
    jvm: Any = spark._jvm
    obstacle = jvm.org.apache.spark.sql.pysparkpipeline.Readiness.obstacleText
    wait_until(lambda: not obstacle().startswith("no executor has reported"), "an executor should report", 200)


def _late(spark: SparkSession, flag: Path) -> None:
    _run("before", _query(spark))
    executors = spark.sparkContext._jsc.sc().getExecutorIds
    thread = threading.Thread(target=_run, args=("during", _query(spark, rows=400_000_000, parts=100)))
    thread.start()
    flag.touch()
    wait_until(lambda: executors().size() == 2, "the second worker should bring an executor", 60)
    _print_record("joined", running=thread.is_alive())
    thread.join()


def main(mode: str, flag: str) -> None:
    spark = SparkSession.builder.appName(f"executors {mode}").getOrCreate()
    _await_report(spark)
    if mode == "late":
        _late(spark, Path(flag))
    _run("query", _query(spark))
    _print_record("pythons", prefixes=_pythons(spark))
    if mode in ("late", "lacking"):
        spark.conf.set(_STRICT, "true")
        _run("strict", _query(spark))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
