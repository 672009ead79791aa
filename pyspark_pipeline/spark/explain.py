"""What of a query runs in the engine, for the final plan that AQE ended with."""

from __future__ import annotations

import json
from typing import Any


def _report(frame: Any) -> Any:
    jvm = frame.sparkSession._jvm
    return getattr(jvm.org.apache.spark.sql.pysparkpipeline, "Report")


def summary(frame: Any) -> dict[str, Any]:
    """Give operators, converted, transitions (counts), reasons (texts) and fragments of a DataFrame's plan.

    Before the frame has run, the plan is the one AQE starts with.
    """
    plan = frame._jdf.queryExecution().executedPlan()
    result: dict[str, Any] = json.loads(_report(frame).json(plan))
    return result


def explain(frame: Any) -> str:
    """Print and return the same as text: the summary line, each fragment's pipelines, each reason."""
    text = str(_report(frame).text(frame._jdf.queryExecution().executedPlan()))
    print(text)
    return text
