"""Reports of an executed query's fragments: the metrics of each operator as text, and a timeline of the drivers."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark_pipeline.metrics.profile import draw_tree, merge_reports, size
from pyspark_pipeline.spark.frames import plan_reports
from pyspark_pipeline.spark.shown import ShownReport, html_list, shown

_NOTHING = "nothing ran in the engine: the frame has not run, or all of it stayed in Spark"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Profile(ShownReport):
    """The metrics of a query's fragments: ``fragments`` as :func:`fragments` returns them, ``text`` for display."""

    fragments: tuple[Mapping[str, Any], ...]
    text: str

    def _repr_html_(self) -> str:
        sections = []
        for fragment in self.fragments:
            head, *lines = _lines(fragment)
            sections.append(html_list(head, lines, preformatted=True))
        return "".join(sections) or f"<p>{_NOTHING}</p>"


def fragments(frame: Any, asked: str = "profile") -> list[dict[str, Any]]:
    """Return ``id``, ``inputs`` (ids), ``instances`` (metrics of each) of every fragment of an executed frame.

    ``omitted`` counts the instances whose reports exceeded the size limit. Raises
    :class:`~pyspark_pipeline.spark.frames.SessionError`, which names the ``asked`` function, if ``frame`` is a Spark
    Connect client's or if its session runs without the extension.
    """
    reports, plan = plan_reports(frame, asked)
    made: list[dict[str, Any]] = json.loads(reports.profiles(plan))
    return made


def profile(frame: Any) -> Profile:
    """Return the pipelines of every fragment of ``frame``, which must have run, with the operators' metrics.

    It is printed if the caller drops the value. Rows, bytes, time and waits are sums over all instances; memory is that
    of the instance with the highest peak. Failed tasks are reported separately. Raises as :func:`fragments` does.
    """
    made = fragments(frame)
    text = "\n".join(line for fragment in made for line in _lines(fragment)) or _NOTHING
    return shown(Profile(fragments=tuple(made), text=text), sys._getframe(1))


def _lines(fragment: Mapping[str, Any]) -> Iterator[str]:
    kinds = merge_reports(fragment["instances"])
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
        yield from (f"  {line}" for line in draw_tree(kind))


def timeline(frame: Any, path: str | Path) -> int:
    """Write the running and blocked spans of the drivers of ``frame``, which must have run; return their number.

    The file is a Chrome trace: open it in Perfetto or ``chrome://tracing``. It has a process for every fragment
    instance and a thread for every driver. Raises :class:`ValueError` if there is no timeline, because the frame
    has not run, or not with ``spark.pysparkPipeline.metrics.timeline=true``; raises as
    :func:`fragments` does.
    """
    events = list(_events(fragments(frame, "timeline")))
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
            omission = f", {left_out} later spans left out" if left_out else ""
            yield _name("thread_name", f"pipeline {pipeline}, driver {number}{omission}", process, thread)
            yield from _spans(driver.get("timeline", ()), process, thread)


def _name(kind: str, name: str, process: int, thread: int = 0) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}


def _spans(kept: Sequence[Sequence[Any]], process: int, thread: int) -> Iterator[dict[str, Any]]:
    """Yield the spans of one driver, and a "ready" span for each gap between them, in which another driver ran."""
    last = None
    for since, length, what in kept:
        if last is not None and since > last:
            yield _span("ready", last, since - last, process, thread)
        yield _span(what if what == "running" else f"blocked: {what}", since, length, process, thread)
        last = since + length


def _span(name: str, since: int, length: int, process: int, thread: int) -> dict[str, Any]:
    kind = name.split(":")[0]
    return {"ph": "X", "name": name, "cat": kind, "ts": since, "dur": length, "pid": process, "tid": thread}
