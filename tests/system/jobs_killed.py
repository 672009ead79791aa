"""A job that kills all its Python workers several times while its query runs, and prints rows and failed tasks."""

from __future__ import annotations

import os
import sys
import threading
import time

from pyspark.sql import SparkSession

from tests.support.processes import kill, python_workers, wait_until

_QUERY = "SELECT id % 1000 AS k, count(*) AS n, sum(id) AS s FROM range(0, 40000000, 1, 40) GROUP BY 1"


def _runs(spark: SparkSession) -> bool:
    """Return whether a task runs in a stage with completed tasks, so that its worker is active."""
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    return any(stage is not None and stage.numCompletedTasks and stage.numActiveTasks for stage in stages)


def main(kills: int) -> None:
    spark = SparkSession.builder.appName("killed job").getOrCreate()
    spark.sql("SELECT id % 10, count(*) FROM range(0, 1000, 1, 2) GROUP BY 1").collect()
    wait_until(lambda: bool(python_workers(os.getppid())), "the previous query should have left idle workers")
    spark.sparkContext.setJobGroup("killed", "killed")
    killed: list[int] = []
    over = threading.Event()

    def killer() -> None:
        rounds = 0
        while rounds < kills and not over.is_set():
            if _runs(spark):
                killed.extend(worker for worker in python_workers(os.getppid()) if kill(worker))
                rounds += 1
                time.sleep(0.4)

    thread = threading.Thread(target=killer, daemon=True)
    thread.start()
    frame = spark.sql(_QUERY)
    rows = frame.collect()
    over.set()
    thread.join()
    tracker = spark.sparkContext._jsc.sc().statusTracker()
    jobs = list(tracker.getJobIdsForGroup("killed"))
    stages = [stage for job in jobs for stage in tracker.getJobInfo(job).get().stageIds()]
    failed = sum(tracker.getStageInfo(stage).get().numFailedTasks() for stage in stages)
    print("ROWS", len(rows), sum(row.n for row in rows), sum(row.s for row in rows))
    print("KILLED", len(killed), "FAILED", failed)
    frame.explain()
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]))
