"""A client of a Spark Connect server in another process; prints what it observes as one JSON line.

Usage: ``jobs_connect_client.py PORT SERVER_PROCESS``, on the server's machine. Each query runs in the engine, then in
Spark.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import pyspark_pipeline
from pyspark_pipeline.errors import PipelineError
from tests.support.processes import computes, wait_until

_QUERY = "SELECT id % 3 AS k, count(*) AS n FROM range(0, 300, 1, 2) GROUP BY 1"
_LONG_QUERY = "SELECT id % 1000 AS k, count(*), sum(id) FROM range(0, 200000000000, 1, 4) GROUP BY 1"
_ENGINES = {"engine": "true", "vanilla": "false"}


def _joined(spark: SparkSession) -> DataFrame:
    words = spark.createDataFrame([(0, "a"), (1, "é"), (2, None)], "k bigint, word string")
    numbers = spark.range(0, 300, 1, 2).withColumn("k", F.expr("id % 3")).withColumn("price", F.expr("id / 10.0"))
    return numbers.join(words, "k", "left").groupBy("word").agg(F.sum("price"), F.max("id"))


_QUERIES: Mapping[str, Callable[[SparkSession], DataFrame]] = {
    "grouped": lambda spark: spark.sql(_QUERY),
    "joined": _joined,
    "sorted": lambda spark: spark.range(0, 50, 1, 3).orderBy(F.expr("id % 7"), F.desc("id")).limit(9),
    "divided": lambda spark: spark.sql("SELECT 10 div (id - 5) FROM range(0, 10, 1, 2)"),
    "parsed": lambda spark: spark.sql("SELECT CAST(concat('x', id) AS INT) FROM range(0, 10, 1, 1)"),
}


def _outcome(frame: DataFrame) -> Any:
    """Return the rows in an order of their own, or the error's class, condition and first line."""
    try:
        return sorted(map(repr, frame.collect()))
    except PySparkException as error:
        return _shown(error)


def _shown(error: PySparkException) -> list[str | None]:
    return [type(error).__name__, error.getCondition(), str(error).partition("\n")[0]]


def _reports(frame: DataFrame) -> dict[str, Any]:
    made: dict[str, Any] = {"converted": pyspark_pipeline.explain(frame).converted}
    for name, arguments in (("profile", ()), ("timeline", ("timeline.json",))):
        try:
            getattr(pyspark_pipeline, name)(frame, *arguments)
        except PipelineError as error:
            made[name] = str(error)
    return made


class _LongQuery:
    """A query without end in a thread of its own; ``operation`` is set when its tasks run."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.operation = ""
        self.error: Any = None
        self._runs = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _progress(self, *_: Any, inflight_tasks: int, operation_id: str | None, **__: Any) -> None:
        if inflight_tasks and operation_id:
            self.operation = operation_id
            self._runs.set()

    def _run(self) -> None:
        self._spark.addTag("long")
        try:
            self._spark.sql(_LONG_QUERY).collect()
        except PySparkException as error:
            self.error = _shown(error)
        self._spark.removeTag("long")

    def start(self) -> None:
        """Start the query and wait until its tasks run."""
        self._spark.registerProgressHandler(self._progress)
        self._thread.start()
        assert self._runs.wait(60), "no task of the long query runs"

    def interrupt(self, how: Callable[[str], list[str]]) -> dict[str, Any]:
        """Interrupt the query and return what it raised."""
        interrupted = how(self.operation)
        self._thread.join(60)
        self._spark.removeProgressHandler(self._progress)
        return {"found": interrupted == [self.operation], "error": self.error}


def _interrupted(spark: SparkSession, server: int, engine: str) -> dict[str, Any]:
    ways: dict[str, Callable[[str], list[str]]] = {
        "all": lambda _: spark.interruptAll(),
        "tag": lambda _: spark.interruptTag("long"),
        "operation": spark.interruptOperation,
    }
    made: dict[str, Any] = {}
    for name, how in ways.items():
        query = _LongQuery(spark)
        query.start()
        if engine == "engine":
            wait_until(lambda: computes(server), "the query should run in a worker", 60)
        made[name] = query.interrupt(how)
        wait_until(lambda: not computes(server), "no worker should go on")
        made[name]["next"] = _outcome(spark.sql(_QUERY))
    return made


def main() -> None:
    port, server = map(int, sys.argv[1:])
    spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
    told: dict[str, Any] = {"reports": _reports(spark.sql(_QUERY))}
    for engine, is_enabled in _ENGINES.items():
        spark.conf.set("spark.pysparkPipeline.enabled", is_enabled)
        told[engine] = {name: _outcome(query(spark)) for name, query in _QUERIES.items()}
        told[engine]["interrupted"] = _interrupted(spark, server, engine)
    print(json.dumps(told), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
