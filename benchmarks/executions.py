"""The conversion of all queries that a session runs, those of writes too, which have no frame to report on."""

from __future__ import annotations

import importlib
import json
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession


class Executions:
    """Collects the extension's report on each query that ends, as Spark's listener of query executions."""

    def __init__(self, spark: SparkSession) -> None:
        context: Any = spark.sparkContext
        self._bus = context._jsc.sc().listenerBus()
        self._reports = context._jvm.org.apache.spark.sql.pysparkpipeline.PlanReport
        self._found: list[dict[str, Any]] = []
        java_gateway: Any = importlib.import_module("pyspark.java_gateway")  # without types
        java_gateway.ensure_callback_server_started(context._gateway)
        jvm_session: Any = spark._jsparkSession
        self._listeners = jvm_session.listenerManager()
        self._listeners.register(self)

    def take(self) -> dict[str, Any]:
        """Return the sums of operators, converted ones and transitions, and the reasons, since the last call."""
        self._bus.waitUntilEmpty()
        found, self._found = self._found, []
        sums = {key: sum(report[key] for report in found) for key in ("operators", "converted", "transitions")}
        return sums | {"reasons": sorted({reason for report in found for reason in report["reasons"]})}

    def stop(self) -> None:
        """End the collection."""
        self._listeners.unregister(self)

    def onSuccess(self, name: str, execution: JavaObject, nanos: int) -> None:  # noqa: N802  (Spark's name)
        """Add the report on a query that ended."""
        self._found.append(json.loads(self._reports.json(execution.executedPlan())))

    def onFailure(self, name: str, execution: JavaObject, error: JavaObject) -> None:  # noqa: N802  (Spark's name)
        """Ignore a query that failed: the failure reaches the caller."""

    class Java:
        """The interface that Py4J implements by this class."""

        implements = ["org.apache.spark.sql.util.QueryExecutionListener"]
