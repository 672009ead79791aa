"""Access from a frame to the shim's reports on it, and the error for a session that has none.

The reports are objects of the driver's JVM, which a Spark Connect client cannot reach.
"""

from __future__ import annotations

import re
from typing import Any

from py4j.java_gateway import JavaPackage

from pyspark_pipeline.errors import PipelineError

_SECTION = re.compile(r"^== Extended Information \(Pipelines\) ==\n(.*?)(?=^== |\Z)", re.MULTILINE | re.DOTALL)


class SessionError(PipelineError):
    """The session of a frame cannot report on it; names the reason and the alternative."""


def is_connect(frame: Any) -> bool:
    """Return whether ``frame`` is a DataFrame of a Spark Connect client."""
    return any(base.__module__.startswith("pyspark.sql.connect.") for base in type(frame).__mro__)


def plan_reports(frame: Any, asked: str) -> tuple[Any, Any]:
    """Return the shim's reports and the executed plan of ``frame``, both in the JVM.

    Raises :class:`SessionError`, which names the ``asked`` function, if ``frame`` is a Connect client's or if its
    session runs without the extension.
    """
    if is_connect(frame):
        raise SessionError(
            f"{asked} reads the driver's JVM, which a Spark Connect client cannot reach: see the metrics of each"
            " PipelineFragment on the SQL page of the server's Spark UI instead"
        )
    reports = frame.sparkSession._jvm.org.apache.spark.sql.pysparkpipeline.PlanReport
    if isinstance(reports, JavaPackage):
        raise SessionError(
            f"{asked} has nothing to report: this session was started without the extension (pyspark_pipeline.install)"
        )
    return reports, frame._jdf.queryExecution().executedPlan()


def connect_report(frame: Any) -> str:
    """Return the report in the explained plan of ``frame``, a Connect client's frame.

    Raises :class:`SessionError` if there is none.
    """
    found = _SECTION.search(frame._explain_string(mode="simple") + "\n")
    if found is None:
        raise SessionError(
            "explain has nothing to report: the Spark Connect server was started without the extension, which it needs"
            " itself: spark-submit --class org.apache.spark.sql.connect.service.SparkConnectServer"
            " $(pyspark-pipeline submit-args) spark-internal"
        )
    return found[1].strip("\n")
