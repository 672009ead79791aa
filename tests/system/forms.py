"""Runs the forms of a job of a cluster with and without fragments."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession


def print_forms(spark: SparkSession, forms: Mapping[str, Callable[[], DataFrame]]) -> None:
    """Print a JSON line for each form: its rows by both, and what converted."""
    report: Any = spark._jvm.org.apache.spark.sql.pysparkpipeline.PlanReport
    for form, make in forms.items():
        found: list[Any] = []
        for engine in ("false", "true"):
            spark.conf.set("spark.pysparkPipeline.enabled", engine)
            frame = make()
            found.append(sorted([*row] for row in frame.collect()))
        summary = json.loads(report.json(frame._jdf.queryExecution().executedPlan()))
        kept = {key: summary[key] for key in ("converted", "operators", "reasons")}
        print(json.dumps({"what": form, "spark": found[0], "rows": found[1], **kept}), flush=True)
