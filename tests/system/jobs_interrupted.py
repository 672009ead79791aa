"""A program whose long queries are interrupted from outside, as by Ctrl-C; prints what happens to each as JSON lines.

With the argument ``function`` they are in a function of the user's. The program catches the first interrupts and runs
another query after each. The last one ends it. With pinned threads, which are PySpark's default, PySpark's handler of
SIGINT raises a Py4JError and does not get to cancel the jobs.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

import pyspark_pipeline
from tests.support.processes import wait_until

_LONG_QUERY = "SELECT id % 1000 AS k, count(*), sum(id) FROM range(0, 200000000000, 1, 4) GROUP BY 1"
_QUERY = "SELECT id % 3 AS k, count(*) AS n FROM range(0, 300, 1, 2) GROUP BY 1"
_ENABLED = "spark.pysparkPipeline.enabled"

signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it, as do their children


def _tell(what: str, **fields: Any) -> None:
    print(json.dumps({"what": what, **fields}), flush=True)


def _session() -> SparkSession:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "localhost").config("spark.sql.shuffle.partitions", "2")
    builder = builder.config("spark.pysparkPipeline.cost.enabled", "false")
    return pyspark_pipeline.install(builder).getOrCreate()


def _long(spark: SparkSession) -> DataFrame:
    """Return a frame that computes for hours."""

    def compute(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for _ in range(10**12):
                sum(range(1000))
            yield batch

    if sys.argv[1] != "function":
        return spark.sql(_LONG_QUERY)
    return spark.range(0, 100, 1, 2).mapInArrow(compute, "id long").groupBy("id").count()


def _has_running_task(spark: SparkSession) -> bool:
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getActiveJobsIds()]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    return any(stage.numActiveTasks > 0 for stage in stages if stage is not None)


def _tell_when_running(spark: SparkSession, name: str) -> None:
    """Report from another thread that a task runs: cancelAllJobs does not reach a job that Spark has yet to start."""

    def watch() -> None:
        wait_until(lambda: _has_running_task(spark), "a task should run", 60)
        _tell("running", name=name)

    threading.Thread(target=watch, daemon=True).start()


def _interrupted(spark: SparkSession, name: str) -> None:
    frame = _long(spark)
    _tell_when_running(spark, name)
    try:
        frame.collect()
    except (KeyboardInterrupt, Py4JError) as error:
        spark.sparkContext.cancelAllJobs()
        tracker = spark.sparkContext.statusTracker()
        wait_until(lambda: not tracker.getActiveJobsIds(), "the job should be cancelled")
        _tell("interrupted", name=name, error=type(error).__name__)
        sys.stdin.readline()  # the test looks for workers that compute before the next query does
    rows = sorted([*row] for row in spark.sql(_QUERY).collect())
    converted = "PipelineFragment" in frame._jdf.queryExecution().executedPlan().toString()
    _tell("next", name=name, rows=rows, converted=converted)


def main() -> None:
    spark = _session()
    spark.sql(_QUERY).collect()
    _interrupted(spark, "engine")
    spark.conf.set(_ENABLED, "false")
    _interrupted(spark, "vanilla")
    spark.conf.set(_ENABLED, "true")
    _tell_when_running(spark, "uncaught")
    _long(spark).collect()


if __name__ == "__main__":
    main()
