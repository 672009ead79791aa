"""The one Spark session of the tests, which runs both engines: vanilla Spark is the extension switched off.

``run`` runs a query under settings on one engine and returns everything that a user can observe of it:
rows, or exception class and error condition, and the reported conversion.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
from py4j.protocol import Py4JError
from pyspark.core.context import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.support.conversion import Conversion, install, summary_of

ENABLED = "spark.pysparkPipeline.enabled"

#: Ends a hang: no query that finishes takes that long, not even on a slow and busy machine.
TIME_LIMIT_S = 300.0

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    "spark.driver.host": "localhost",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timeType.enabled": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    # Gold statements over no rows are about the operators, which would not be in the final plan.
    "spark.sql.adaptive.optimizer.excludedRules": "org.apache.spark.sql.pysparkpipeline.EmptyAggregations",
    "spark.pysparkPipeline.cost.enabled": "false",
    "spark.pysparkPipeline.jvmExpressions": "false",
    "spark.pysparkPipeline.strict": "true",
    "spark.pysparkPipeline.cache.enabled": "true",
    "spark.pysparkPipeline.debug.checkChunks": "true",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a query: its rows, or its error as ``(exception class, condition)``, and its conversion."""

    rows: list[Any] | None = None
    error: tuple[str, str | None] | None = None
    message: str = ""
    conversion: Conversion | None = None


def spark_minor() -> str:
    """Return the minor version of the running Spark, as ``4.1``."""
    return ".".join(pyspark.__version__.split(".")[:2])


def java_release(spark: SparkSession) -> str:
    """Return the release of the driver's Java, as ``17``."""
    assert spark._jvm is not None
    return str(spark._jvm.java.lang.Runtime.version().feature())


def start(
    folder: Path, *, task_cpus: int = 1, vanilla: bool = False, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Start the session of the tests, with further ``settings``; ``vanilla`` omits the extension."""
    os.environ["TZ"] = "UTC"
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    builder = SparkSession.builder.master(f"local[{max(2, task_cpus)}]").appName("pyspark_pipeline tests")
    for key, value in {**_SETTINGS, **(settings or {})}.items():
        builder = builder.config(key, value)
    builder = builder.config("spark.task.cpus", str(task_cpus))
    builder = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    if not vanilla:
        builder = install(builder)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def exit_code_of_jvm() -> int | None:
    """Return the exit code of the JVM of this process, negative for a signal; None if it runs or there is none."""
    gateway = SparkContext._gateway
    return None if gateway is None else gateway.proc.poll()


def condition_of(error: Exception) -> str | None:
    """Return Spark's error condition of an exception that a query raised, also if py4j wraps Spark's own."""
    if isinstance(error, PySparkException):
        return error.getCondition()
    found = re.search(r"\bSparkException: \[([A-Z0-9_.]+)\]", str(error))
    return found[1] if found else None


@contextlib.contextmanager
def configured(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set run-time settings for the duration of a ``with`` block."""
    before = {key: spark.conf.get(key, None) for key in settings}
    try:
        for key, value in settings.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)


@contextlib.contextmanager
def time_limit(spark: SparkSession, seconds: float = TIME_LIMIT_S) -> Iterator[None]:
    """Cancel the session's jobs if the ``with`` block takes longer than ``seconds``: a hang becomes a failure."""
    timer = threading.Timer(seconds, spark.sparkContext.cancelAllJobs)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def run(spark: SparkSession, sql: str, *, pipeline: bool, settings: Mapping[str, str] | None = None) -> Outcome:
    """Run ``sql`` on the pipeline engine or on vanilla Spark and return its outcome."""
    frame: DataFrame | None = None
    with configured(spark, {**(settings or {}), ENABLED: str(pipeline).lower()}), time_limit(spark):
        try:
            frame = spark.sql(sql)
            rows = frame.collect()
        except (PySparkException, Py4JError) as error:
            failure = (type(error).__name__, condition_of(error))
            message = str(error)
        else:
            return Outcome(rows=rows, conversion=summary_of(frame) if pipeline else None)
        conversion = None
        if pipeline and frame is not None:
            with contextlib.suppress(PySparkException, Py4JError):  # it failed during planning
                conversion = summary_of(frame)
        return Outcome(error=failure, message=message, conversion=conversion)
