"""A job that kills a Python worker which it sees within a file that it writes; prints the outcome as JSON.

The file is the data file of a map task (``shuffle``), or one of a table (``parquet``).
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession

from tests.support.processes import kill, python_workers

_QUERY = """
    SELECT k % 3 AS g, count(*) AS n, sum(v) AS s, max(t) >= 'f' AS f FROM (
      SELECT /*+ REPARTITION(3, k) */ id % 1000 AS k, id AS v, sha2(string(id), 256) AS t FROM range(0, 2000000, 1, 2))
    GROUP BY g
"""


#: The files that are not committed, by kind.
_UNFINISHED = {"shuffle": "shuffle_*.data.*", "parquet": "_temporary/**/[0-9]*.parquet"}


def _unfinished(folder: Path, kind: str) -> Iterator[tuple[Path, int]]:
    """Yield the files that are not committed, with their sizes."""
    for path in folder.rglob(_UNFINISHED[kind]):
        try:
            yield path, path.stat().st_size
        except OSError:  # it has been committed or removed
            continue


def _has_open(worker: int, path: Path) -> bool:
    try:
        return any(os.readlink(entry) == str(path) for entry in Path(f"/proc/{worker}/fd").iterdir())
    except OSError:  # it has ended
        return False


def _kill_writer(folder: Path, kind: str, over: threading.Event) -> int:
    """Kill the first worker that is seen within a file; return the size of the file then."""
    while not over.wait(0.001):
        for path, size in _unfinished(folder, kind):
            for worker in python_workers(os.getppid()) if size else []:
                if _has_open(worker, path) and kill(worker):
                    return size
    return 0


def _written(spark: SparkSession, folder: Path) -> list[list[object]]:
    """Write two files and return what Spark counts in them."""
    target = str(folder / "table")
    spark.range(0, 3000000, 1, 2).selectExpr("id", "sha2(string(id), 256) AS t").write.parquet(target)
    spark.conf.set("spark.pysparkPipeline.enabled", "false")
    read = spark.read.parquet(target)
    sums = "count(*)", "sum(id)", "sum(CAST(t = sha2(string(id), 256) AS int))"
    return [[*row] for row in read.selectExpr(*sums).collect()]


def main(kind: str, folder: Path) -> None:
    spark = SparkSession.builder.appName("killed writer").getOrCreate()
    over = threading.Event()
    killed: list[int] = []
    thread = threading.Thread(target=lambda: killed.append(_kill_writer(folder, kind, over)))
    thread.start()
    rows = _written(spark, folder) if kind == "parquet" else sorted([*row] for row in spark.sql(_QUERY).collect())
    over.set()
    thread.join()
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup()]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    failed = sum(stage.numFailedTasks for stage in stages if stage is not None)
    left = [path.name for path, _ in _unfinished(folder, kind)]
    print(json.dumps({"rows": rows, "killed": killed, "failed": failed, "left": left}))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
