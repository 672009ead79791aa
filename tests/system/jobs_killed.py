"""A job that kills all its Python workers until tasks of its query fail, several times, and prints both counts."""

from __future__ import annotations

import os
import sys
import threading

from pyspark import SparkStageInfo
from pyspark.sql import SparkSession

from tests.support.processes import kill, python_workers, wait_until

_QUERY = "SELECT id % 1000 AS k, count(*) AS n, sum(id) AS s FROM range(0, 400000000, 1, 40) GROUP BY 1"


def _stages(spark: SparkSession) -> list[SparkStageInfo]:
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup("killed")]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    return [stage for stage in stages if stage is not None]


def main(kills: int) -> None:
    spark = SparkSession.builder.appName("killed job").getOrCreate()
    spark.sql("SELECT id % 10, count(*) FROM range(0, 1000, 1, 2) GROUP BY 1").collect()
    wait_until(lambda: bool(python_workers(os.getppid())), "the previous query should have left idle workers")
    spark.sparkContext.setJobGroup("killed", "killed")
    killed: list[int] = []
    over = threading.Event()

    def killer() -> None:
        """Kill the workers again if all were between two tasks."""
        rounds = failed = 0
        while rounds < kills and not over.wait(0.1):
            stages = _stages(spark)
            if not any(stage.numCompletedTasks and stage.numActiveTasks for stage in stages):
                continue
            killed.extend(worker for worker in python_workers(os.getppid()) if kill(worker))
            over.wait(0.4)
            before, failed = failed, sum(stage.numFailedTasks for stage in _stages(spark))
            rounds += failed > before

    thread = threading.Thread(target=killer, daemon=True)
    thread.start()
    frame = spark.sql(_QUERY)
    rows = frame.collect()
    over.set()
    thread.join()
    print("ROWS", len(rows), sum(row.n for row in rows), sum(row.s for row in rows))
    print("KILLED", len(killed), "FAILED", sum(stage.numFailedTasks for stage in _stages(spark)))
    frame.explain()
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]))
