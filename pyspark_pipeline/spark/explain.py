"""What of a query runs in the engine, for the final plan that AQE ended with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark_pipeline.task.statistics import METRICS

# Spark's own metric, milliseconds. Its pythonInitTime is none of it: in a worker that is used again it counts the time
# since the last task.
_WORKER_START = "pythonBootTime"


def _report(frame: Any) -> Any:
    jvm = frame.sparkSession._jvm
    return jvm.org.apache.spark.sql.pysparkpipeline.PlanReport


def summary(frame: Any) -> dict[str, Any]:
    """Give operators, converted and transitions (counts), reasons (texts), fragments and breakdown_s of a plan.

    Before the frame has run, the plan is the one AQE starts with.
    """
    plan = frame._jdf.queryExecution().executedPlan()
    result: dict[str, Any] = json.loads(_report(frame).json(plan))
    result["breakdown_s"] = _breakdown(result["fragments"])
    return result


def _breakdown(fragments: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Add up the times of all tasks and fragments by what they were spent on, in seconds."""
    seconds: dict[str, float] = {}
    for fragment in fragments:
        for metric in METRICS:
            if metric.kind == "nanos":
                spent = fragment["metrics"].get(metric.name, 0) / 1e9
                seconds[metric.name] = seconds.get(metric.name, 0.0) + spent
        started = fragment["metrics"].get(_WORKER_START, 0) / 1e3
        seconds["workerStartTime"] = seconds.get("workerStartTime", 0.0) + started
    return {name: round(value, 4) for name, value in seconds.items()}


def explain(frame: Any) -> str:
    """Print and return the same as text: the summary line, each fragment's pipelines, each reason."""
    text = str(_report(frame).text(frame._jdf.queryExecution().executedPlan()))
    print(text)
    return text
