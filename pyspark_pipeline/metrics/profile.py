"""The profile of a fragment: the metrics of its instances, summed and drawn as a tree of pipelines.

A ``report`` is the JSON of ``FragmentInstance.metrics``. Instances with different pipelines (the inputs of a union that
run separately) are summed separately, and so are those of tasks that ``failed``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Report = Mapping[str, Any]

_LARGEST = ("longest_call_s", "peak_bytes")
_HIDDEN = frozenset({"messages_received", "messages_sent", "bytes_received", "bytes_sent"})


def merge_reports(reports: Iterable[Report]) -> list[dict[str, Any]]:
    """Return the sums of the reports with the same pipelines: ``instances``, ``peak_bytes`` (maximum), ``pipelines``.

    Reports of ``failed`` tasks are summed separately, after the others.
    """
    kinds: dict[tuple[Any, ...], dict[str, Any]] = {}
    for report in reports:
        pipelines = tuple((p["id"], *(operator["name"] for operator in p["operators"])) for p in report["pipelines"])
        failed = report.get("failed", False)
        total = kinds.get((failed, pipelines))
        if total is None:
            kinds[failed, pipelines] = {
                "failed": failed,
                "instances": 1,
                "peak_bytes": report["peak_bytes"],
                "pipelines": [_copied(pipeline) for pipeline in report["pipelines"]],
            }
            continue
        total["instances"] += 1
        total["peak_bytes"] = max(total["peak_bytes"], report["peak_bytes"])
        for held, pipeline in zip(total["pipelines"], report["pipelines"], strict=True):
            held["drivers"] += pipeline["dop"]
            for into, operator in zip(held["operators"], pipeline["operators"], strict=True):
                _add(into, operator)
    return sorted(kinds.values(), key=lambda kind: bool(kind["failed"]))


def _copied(pipeline: Report) -> dict[str, Any]:
    operators: list[dict[str, Any]] = [{} for _ in pipeline["operators"]]
    for into, operator in zip(operators, pipeline["operators"], strict=True):
        _add(into, operator)
    needs = {int(place): list(needed) for place, needed in pipeline["needs"].items()}
    return {"id": pipeline["id"], "drivers": pipeline["dop"], "operators": operators, "needs": needs}


def _add(into: dict[str, Any], other: Report) -> None:
    for key, value in other.items():
        if isinstance(value, Mapping):
            _add(into.setdefault(key, {}), value)
        elif isinstance(value, str):
            into[key] = value
        elif key in _LARGEST:
            into[key] = max(into.get(key, 0), value)
        else:
            into[key] = into.get(key, 0) + value


def draw_tree(total: Report) -> list[str]:
    """Return the drawing of one sum of :func:`merge_reports`: sinks first, pipelines below operators that need them."""
    pipelines = {pipeline["id"]: pipeline for pipeline in total["pipelines"]}
    needed = {number for p in total["pipelines"] for numbers in p["needs"].values() for number in numbers}
    seen: set[int] = set()
    return [line for number, p in pipelines.items() if number not in needed for line in _lines(p, pipelines, seen, 0)]


def _lines(pipeline: Report, pipelines: Mapping[int, Report], seen: set[int], depth: int) -> Iterator[str]:
    margin = "  " * depth
    if pipeline["id"] in seen:
        yield f"{margin}pipeline {pipeline['id']}, see above"
        return
    seen.add(pipeline["id"])
    yield f"{margin}pipeline {pipeline['id']}, drivers: {pipeline['drivers']}"
    operators: Sequence[Report] = pipeline["operators"]
    for place in reversed(range(len(operators))):
        yield f"{margin}  {operator_line(operators[place])}"
        for number in pipeline["needs"].get(place, ()):
            yield from _lines(pipelines[number], pipelines, seen, depth + 2)


def operator_line(operator: Report) -> str:
    """Describe one operator: rows out (of a sink: in), time, blocking reasons, memory, and its counters."""
    side = "out" if "rows_out" in operator or "rows_in" not in operator else "in"
    rows, nbytes, chunks = (operator.get(f"{what}_{side}", 0) for what in ("rows", "bytes", "chunks"))
    parts = [f"{rows:,} rows {side} ({size(nbytes)}, {chunks:,} chunks)", f"{operator['total_s']:.3f} s"]
    if "cpu_s" in operator:
        parts.append(f"CPU {operator['cpu_s']:.3f} s")
    parts += [f"blocked {spent:.3f} s by {reason}" for reason, spent in operator.get("blocked_s", {}).items()]
    if operator.get("peak_bytes"):
        parts.append(f"peak {size(operator['peak_bytes'])}")
    counters = operator.get("counters", {}).items()
    parts += [_format_counter(name, value) for name, value in counters if value and name not in _HIDDEN]
    detail = f" ({operator['detail']})" if "detail" in operator else ""
    return f"{operator['name']}{detail}: {', '.join(parts)}"


def _format_counter(name: str, value: int) -> str:
    words = name.replace("_", " ")
    if name.endswith("_ns"):
        return f"{words[:-3]} {value / 1e9:.3f} s"
    return f"{words} {size(value) if 'bytes' in name else f'{value:,}'}"


def size(nbytes: float) -> str:
    """Return bytes as text, in the unit that leaves one to four digits."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if nbytes < 10_000 or unit == "GiB":
            break
        nbytes /= 1024
    return f"{nbytes:.0f} {unit}"
