"""What the fragments of a query did after it ran: operator by operator as text, and as a timeline of their drivers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark_pipeline.metrics.profile import added, drawn, size


def fragments(frame: Any) -> list[dict[str, Any]]:
    """Give ``id``, ``inputs`` (ids), ``instances`` (what each counted) of every fragment of a frame that ran.

    ``omitted`` counts the instances whose reports were too many to keep.
    """
    jvm = frame.sparkSession._jvm
    plan = frame._jdf.queryExecution().executedPlan()
    made: list[dict[str, Any]] = json.loads(jvm.org.apache.spark.sql.pysparkpipeline.PlanReport.profiles(plan))
    return made


def profile(frame: Any) -> str:
    """Print and return the pipelines of every fragment of ``frame``, which must have run, with the operators' figures.

    Rows, bytes, time and waits are summed over all instances; memory is that of the instance that held most. What
    tasks had done before they failed stands apart.
    """
    text = "\n".join(line for fragment in fragments(frame) for line in _lines(fragment))
    text = text or "nothing ran in the engine: the frame has not run, or all of it stayed in Spark"
    print(text)
    return text


def _lines(fragment: Mapping[str, Any]) -> Iterator[str]:
    kinds = added(fragment["instances"])
    omitted = fragment.get("omitted", 0)
    source = ", ".join(str(number) for number in fragment["inputs"])
    head = f"fragment {fragment['id']}" + (f", from {source}" if source else "")
    if not kinds:
        yield f"{head}: did not run, or what it had sent was read again"
    if omitted:
        yield f"{head}: {omitted} more instances are not in these figures, for the reports of all are too long to keep"
    for kind in kinds:
        which = "instances of failed tasks" if kind["failed"] else "instances"
        yield f"{head}, {which}: {kind['instances']}, peak {size(kind['peak_bytes'])}"
        yield from (f"  {line}" for line in drawn(kind))


def timeline(frame: Any, path: str | Path) -> int:
    """Write when the drivers of ``frame``, which must have run, were running and blocked; give the number of spans.

    The file is a Chrome trace: open it in Perfetto or ``chrome://tracing``. It has a process for every fragment
    instance and a thread for every driver. Raises :class:`ValueError` where no timeline was kept, because the frame
    has not run, or not with ``spark.pysparkPipeline.metrics.timeline=true``.
    """
    events = list(_events(fragments(frame)))
    if not any(event["ph"] == "X" for event in events):
        raise ValueError("no timeline was kept: set spark.pysparkPipeline.metrics.timeline=true and run the frame")
    Path(path).write_text(json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}), encoding="utf-8")
    return sum(event["ph"] == "X" for event in events)


def _events(made: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    instances = [(fragment["id"], report) for fragment in made for report in fragment["instances"]]
    for process, (fragment, report) in enumerate(instances):
        place = f"fragment {fragment}, stage {report['stage']}, partition {report['partition']}"
        yield _name("process_name", place, process)
        drivers = [(p["id"], number, d) for p in report["pipelines"] for number, d in enumerate(p["drivers"])]
        for thread, (pipeline, number, driver) in enumerate(drivers):
            left_out = driver.get("timeline_left_out", 0)
            told = f", {left_out} later spans left out" if left_out else ""
            yield _name("thread_name", f"pipeline {pipeline}, driver {number}{told}", process, thread)
            yield from _spans(driver.get("timeline", ()), process, thread)


def _name(kind: str, name: str, process: int, thread: int = 0) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}


def _spans(kept: Sequence[Sequence[Any]], process: int, thread: int) -> Iterator[dict[str, Any]]:
    """Give the spans of one driver, and those between them, in which it was ready and another one ran."""
    last = None
    for since, length, what in kept:
        if last is not None and since > last:
            yield _span("ready", last, since - last, process, thread)
        yield _span(what if what == "running" else f"blocked: {what}", since, length, process, thread)
        last = since + length


def _span(name: str, since: int, length: int, process: int, thread: int) -> dict[str, Any]:
    kind = name.split(":")[0]
    return {"ph": "X", "name": name, "cat": kind, "ts": since, "dur": length, "pid": process, "tid": thread}
