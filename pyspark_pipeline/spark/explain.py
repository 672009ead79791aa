"""Reports which operators of a query run in the engine, for the final plan of AQE."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark_pipeline.spark.frames import connect_report, is_connect, plan_reports
from pyspark_pipeline.spark.shown import ShownReport, html_list, shown
from pyspark_pipeline.task.statistics import METRICS

# Spark's own metric, milliseconds. Its pythonInitTime is not part of it: in a reused worker it counts the time
# since the last task.
_WORKER_START = "pythonBootTime"

_LINE = re.compile(r"(\d+) of (\d+) operators in pipelines, (\d+) transition")
_PIPELINE = re.compile(r"  pipeline \d+: (.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedFragment:
    """A fragment of a plan: its pipelines as text, and its metrics by name, which a Connect client does not get."""

    id: int
    pipelines: tuple[str, ...]
    metrics: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explanation(ShownReport):
    """The report on a plan: ``converted`` of all ``operators``, ``transitions`` between both engines.

    ``decisions`` has every distinct decision of a planning policy about a converted operator, with the figures that it
    compared, as ``operator: decision``; ``reasons`` has every distinct reason why an operator stayed in Spark, as
    ``operator: reason``; ``text`` is the full report.
    """

    operators: int
    converted: int
    transitions: int
    decisions: tuple[str, ...]
    reasons: tuple[str, ...]
    fragments: tuple[ExplainedFragment, ...]
    text: str

    def _repr_html_(self) -> str:
        counts = f"{self.converted} of {self.operators} operators in pipelines, {self.transitions} transition(s)"
        parts = [f"<p><b>{counts}</b></p>"]
        parts += [html_list(f"fragment {f.id}", f.pipelines) for f in self.fragments]
        for title, lines in (("decisions", self.decisions), ("stayed in Spark", self.reasons)):
            parts += [html_list(title, lines)] if lines else []
        return "".join(parts)


def explain(frame: Any) -> Explanation:
    """Return the report on the plan of ``frame``; print it if the caller drops the value.

    Before the frame has run, and always from a Spark Connect client, the plan is the one AQE starts with. Raises
    :class:`~pyspark_pipeline.spark.frames.SessionError` if the session runs without the extension.
    """
    made = _of_text(connect_report(frame)) if is_connect(frame) else _of_plan(frame)
    return shown(made, sys._getframe(1))


def _of_plan(frame: Any) -> Explanation:
    reports, plan = plan_reports(frame, "explain")
    report = json.loads(reports.json(plan))
    fragments = [
        ExplainedFragment(id=given["id"], pipelines=tuple(given["pipelines"]), metrics=given["metrics"])
        for given in report["fragments"]
    ]
    return Explanation(
        operators=report["operators"],
        converted=report["converted"],
        transitions=report["transitions"],
        decisions=tuple(report["decisions"]),
        reasons=tuple(report["reasons"]),
        fragments=tuple(fragments),
        text=str(reports.text(plan)),
    )


def _of_text(text: str) -> Explanation:
    """Parse the text report of the JVM."""
    counts = _LINE.match(text)
    converted, operators, transitions = map(int, counts.groups()) if counts else (0, 0, 0)
    body, _, reasons = text.partition("\nstayed in Spark\n")
    body, _, decisions = body.partition("\ndecisions\n")
    fragments = [
        ExplainedFragment(id=int(number), pipelines=tuple(_PIPELINE.findall(lines)), metrics={})
        for number, lines in re.findall(r"^fragment (\d+)\n((?:  .*\n?)*)", body, re.MULTILINE)
    ]
    return Explanation(
        operators=operators,
        converted=converted,
        transitions=transitions,
        decisions=tuple(line.strip() for line in decisions.splitlines()),
        reasons=tuple(line.strip() for line in reasons.splitlines()),
        fragments=tuple(fragments),
        text=text,
    )


def summary(frame: Any) -> dict[str, Any]:
    """Return operators, converted, transitions (counts), decisions, reasons (texts), fragments, breakdown_s of a plan.

    Before the frame has run, the plan is the one AQE starts with.
    """
    reports, plan = plan_reports(frame, "summary")
    result: dict[str, Any] = json.loads(reports.json(plan))
    result["breakdown_s"] = _breakdown(result["fragments"])
    return result


def _breakdown(fragments: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the sums of each time metric over all tasks and fragments, in seconds."""
    seconds: dict[str, float] = {}
    for fragment in fragments:
        for metric in METRICS:
            if metric.kind == "nanos":
                spent = fragment["metrics"].get(metric.name, 0) / 1e9
                seconds[metric.name] = seconds.get(metric.name, 0.0) + spent
        started = fragment["metrics"].get(_WORKER_START, 0) / 1e3
        seconds["workerStartTime"] = seconds.get("workerStartTime", 0.0) + started
    return {name: round(value, 4) for name, value in seconds.items()}
