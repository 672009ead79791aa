"""The time of one execution as Spark measures it: planning, stages, gaps between them, their tasks.

The times of the engine's operators are in ``breakdown_s`` of the extension's summary. Seconds of tasks
and operators are sums over all tasks, so on several cores they exceed the elapsed time. ``shuffled_mib`` is what they
wrote for shuffles.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession

_TASK_MILLIS = {
    "tasks": "executorRunTime",
    "task_start": "executorDeserializeTime",
    "shuffle_wait": "shuffleFetchWaitTime",
}
_TASK_NANOS = {"task_cpu_jvm": "executorCpuTime", "shuffle_write": "shuffleWriteTime"}


class Watch:
    """Observer of the stages that a session runs after the observer's creation."""

    def __init__(self, spark: SparkSession) -> None:
        self._context: Any = spark.sparkContext._jsc.sc()
        self._next = 0
        self._stages()

    def breakdown(self, frame: DataFrame, seconds: float) -> dict[str, float]:
        """Return the parts of an execution of ``frame`` of ``seconds``; ``scheduling`` is the time without a stage."""
        phases: Any = frame._jdf.queryExecution().tracker().phases()
        planning = sum(entry.durationMs() for entry in _items(phases.values())) / 1e3
        stages = self._stages()
        running = covered([_interval(stage) for stage in stages])
        found = {"planning": planning, "stages": running, "scheduling": max(seconds - planning - running, 0.0)}
        for name, getter in _TASK_MILLIS.items():
            found[name] = sum(getattr(stage, getter)() for stage in stages) / 1e3
        for name, getter in _TASK_NANOS.items():
            found[name] = sum(getattr(stage, getter)() for stage in stages) / 1e9
        found["shuffled_mib"] = sum(stage.shuffleWriteBytes() for stage in stages) / 2**20
        return {name: round(value, 4) for name, value in found.items()} | {"stage_count": len(stages)}

    def _stages(self) -> list[Any]:
        """Return the stages that ended since the last call."""
        self._context.listenerBus().waitUntilEmpty()
        store = self._context.statusStore()
        defaults = [getattr(store, f"stageList$default${number}")() for number in (2, 3, 4, 5)]
        found: dict[int, Any] = {}
        for stage in _items(store.stageList(None, *defaults)):  # from the last one on, and of each the last attempt
            if stage.stageId() < self._next:
                break
            found.setdefault(stage.stageId(), stage)
        self._next = max(found, default=self._next - 1) + 1
        return [
            stage
            for stage in found.values()
            if stage.completionTime().isDefined() and stage.submissionTime().isDefined()
        ]


def _items(collection: Any) -> Iterator[Any]:
    """Yield the items of a collection of Scala."""
    items = collection.iterator()
    while items.hasNext():
        yield items.next()


def _interval(stage: Any) -> tuple[float, float]:
    return stage.submissionTime().get().getTime() / 1e3, stage.completionTime().get().getTime() / 1e3


def covered(intervals: list[tuple[float, float]]) -> float:
    """Return the length of the union of ``intervals``."""
    total, end = 0.0, float("-inf")
    for begins, ends in sorted(intervals):
        total += max(0.0, ends - max(begins, end))
        end = max(end, ends)
    return total
