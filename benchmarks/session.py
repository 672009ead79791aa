"""One engine's Spark session in a process of its own, controlled by JSON lines on its standard input.

Commands, one object a line: ``views`` (register Parquet files), ``functions`` (register Python functions), ``run``
(execute a query, timed; its rows go to a pickle file on request), ``job`` (run a job, each table timed), ``instances``
(the metrics of that query's fragment instances), ``names`` (of the functions and operators of a query), ``storage`` (of
cached relations), ``configure`` (set options), ``save`` (write the rows of a query) and ``stop``. Each is answered by
one JSON line on a pipe that the parent passes. The signal :data:`CANCEL` cancels the running query.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.udtf import UserDefinedTableFunction

from benchmarks.breakdown import Watch
from benchmarks.executions import Executions

SPARK = "spark"
PIPELINE = "pipeline"
#: Cancels the running query.
CANCEL = signal.SIGUSR1

_DIGEST = "select count(*) as num_rows, sum(cast(xxhash64(*) as decimal(38, 0))) as digest from ({})"


def start(engine: str, conf: dict[str, str]) -> SparkSession:
    """Start the session of one engine: the same settings for both, plus the extension for the pipeline engine."""
    builder: Any = SparkSession.builder.appName(f"benchmark {engine}")
    for key, value in conf.items():
        builder = builder.config(key, value)
    if engine == PIPELINE:
        builder = importlib.import_module("pyspark_pipeline.spark.install").install(builder)
    session: SparkSession = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


class Session:
    """Executor of the commands; each method is one of them and returns its answer."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._watch = Watch(spark)
        self._executions: Executions | None = None
        self._frame: DataFrame | None = None

    def functions(self, module: str) -> dict[str, Any]:
        """Register the Python functions that ``module.functions()`` returns, and the views of ``module.frames(…)``."""
        source = importlib.import_module(module)
        for name, function in source.functions().items():
            registry: Any = self._spark.udtf if isinstance(function, UserDefinedTableFunction) else self._spark.udf
            registry.register(name, function)
        for name, frame in source.frames(self._spark).items():
            frame.createOrReplaceTempView(name)
        return {}

    def views(self, tables: dict[str, str]) -> dict[str, Any]:
        """Register each Parquet file or folder as a view of its name."""
        for name, path in tables.items():
            self._spark.read.parquet(path).createOrReplaceTempView(name)
        return {}

    def statements(self, texts: list[str]) -> dict[str, Any]:
        """Execute statements of SQL."""
        for text in texts:
            self._spark.sql(text)
        return {}

    def run(self, sql: str, sink: str, answer: str | None = None) -> dict[str, Any]:
        """Time one execution of ``sql``, from its text to the end of ``sink`` (collect, count, noop, show)."""
        began = time.perf_counter()
        frame = self._frame = self._spark.sql(sql)
        rows = _SINKS[sink](frame)
        seconds = time.perf_counter() - began
        spent = self._watch.breakdown(frame, seconds)
        if answer is not None:
            columns = frame.columns
            if sink == "noop":
                digest = self._spark.sql(_DIGEST.format(sql))
                columns, rows = digest.columns, digest.collect()
            with open(answer, "wb") as file:
                content = (columns, frame.schema.simpleString(), [tuple(row) for row in rows])
                pickle.dump(content, file)
        return {"seconds": seconds, "spent": spent, "summary": summary(frame)}

    def job(self, module: str, source: str, target: str) -> dict[str, Any]:
        """Run ``module.run``, which yields the name of each table that it wrote: seconds and conversion of each."""
        if self._executions is None and _has_extension(self._spark):
            self._executions = Executions(self._spark)
        tables = {}
        began = time.perf_counter()
        for name in importlib.import_module(module).run(self._spark, source, target):
            tables[name] = {"seconds": time.perf_counter() - began}
            if self._executions is not None:
                tables[name] |= self._executions.take()
            began = time.perf_counter()
        return {"tables": tables}

    def configure(self, settings: dict[str, str]) -> dict[str, Any]:
        """Set options of the session."""
        for key, value in settings.items():
            self._spark.conf.set(key, value)
        return {}

    def names(self, sql: str) -> dict[str, Any]:
        """Return the names of the functions and operators in the fragments of the plan of ``sql``, sorted."""
        jvm: Any = self._spark.sparkContext._jvm
        plan: Any = self._spark.sql(sql)._jdf.queryExecution().executedPlan()
        shim = jvm.org.apache.spark.sql.pysparkpipeline
        found = _classes(json.loads(shim.PlanReport.wire(plan)))
        return {"names": sorted(name for name in found if shim.Exclusions.unknown(name).isEmpty())}

    def save(self, sql: str, path: str) -> dict[str, Any]:
        """Write the rows of ``sql`` as Parquet files, in order of their names."""
        self._spark.sql(sql).write.parquet(path)
        return {}

    def storage(self) -> dict[str, Any]:
        """Return the bytes of all cached relations, in memory and on disk, in MiB."""
        context: Any = self._spark.sparkContext._jsc
        infos = list(context.sc().getRDDStorageInfo())
        return {
            "memory_mib": round(sum(info.memSize() for info in infos) / 2**20, 1),
            "disk_mib": round(sum(info.diskSize() for info in infos) / 2**20, 1),
        }

    def instances(self) -> dict[str, Any]:
        """Return the metrics of each fragment instance of the previous query."""
        fragments = importlib.import_module("pyspark_pipeline.spark.profile").fragments(self._frame)
        return {"instances": [instance for fragment in fragments for instance in fragment["instances"]]}

    def cancel(self) -> None:
        """Cancel the running query; may be called from any thread."""
        self._spark.sparkContext.cancelAllJobs()

    def stop(self) -> dict[str, Any]:
        """Stop the session."""
        self._spark.stop()
        return {}


def _classes(node: Any) -> set[str]:
    """Return the classes of the expressions and operators in a JSON document."""
    if isinstance(node, list):
        return set().union(*map(_classes, node))
    if not isinstance(node, dict):
        return set()
    own = {node[key] for key in ("class", "op") if isinstance(node.get(key), str)}
    return own.union(*map(_classes, node.values()))


def _noop(frame: DataFrame) -> list[Any]:
    frame.write.format("noop").mode("overwrite").save()
    return []


def _collect(frame: DataFrame) -> list[Any]:
    return list(frame.collect())


def _show(frame: DataFrame) -> list[Any]:
    frame._jdf.showString(20, 20, False)  # what show() prints
    return []


def _count(frame: DataFrame) -> list[Any]:
    execution: Any = frame._jdf.queryExecution()
    return [(execution.toRdd().count(),)]  # all rows of this frame's own plan, which a write would plan again


_SINKS: dict[str, Callable[[DataFrame], list[Any]]] = {
    "collect": _collect,
    "count": _count,
    "noop": _noop,
    "show": _show,
}


def summary(frame: DataFrame) -> dict[str, Any]:
    """Return the extension's summary of ``frame``; empty if it is off, ``error`` if it fails."""
    if not _has_extension(frame.sparkSession):
        return {}
    try:
        return dict(importlib.import_module("pyspark_pipeline.spark.explain").summary(frame))
    except Exception as error:  # the query itself was fine, and its time and answer count
        return {"error": f"{type(error).__name__}: {error}"[:1000]}


def _has_extension(spark: SparkSession) -> bool:
    return "PipelinePlugin" in (spark.sparkContext.getConf().get("spark.plugins") or "")


def serve(engine: str, conf: dict[str, str], commands: Iterator[str], answers: Any) -> None:
    """Start the session, then answer each command until ``stop`` or the end of the input."""

    def reply(content: dict[str, Any]) -> None:
        answers.write(json.dumps(content, default=str) + "\n")
        answers.flush()

    began = time.perf_counter()
    session = Session(start(engine, conf))
    jvm: Any = session._spark.sparkContext._jvm
    signal.signal(CANCEL, lambda *_: threading.Thread(target=session.cancel).start())
    pid = jvm.java.lang.ProcessHandle.current().pid()
    reply({"start_s": time.perf_counter() - began, "jvm": pid, "spark": session._spark.version})
    for line in commands:
        command = json.loads(line)
        name = command.pop("command")
        try:
            reply(getattr(session, name)(**command))
        except Exception as error:  # every failure is a result of the benchmark, reported to the parent
            reply({"error": f"{type(error).__name__}: {error}"[:4000]})
        if name == "stop":
            return


if __name__ == "__main__":
    with os.fdopen(int(sys.argv[3]), "w", encoding="utf-8") as pipe:
        serve(sys.argv[1], json.loads(sys.argv[2]), iter(sys.stdin.readline, ""), pipe)
