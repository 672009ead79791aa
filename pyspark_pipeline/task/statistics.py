"""What of an instance's counters becomes Spark SQL metrics of the fragment, and what each is called there.

The manifest carries this table, so that the shim creates the metrics without knowing any.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark_pipeline.exec import FragmentInstance
from pyspark_pipeline.memory import REVOCATIONS
from pyspark_pipeline.memory.spill_files import SPILL_FILES, SPILLED_BYTES, SPILLED_MEMORY
from pyspark_pipeline.metrics import Counter
from pyspark_pipeline.operators.joins.row_filter import DROPPED
from pyspark_pipeline.operators.parquet_scan import COLUMN_BYTES, PRUNED_BY_JOINS


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentMetric:
    """One SQL metric: ``kind`` is sum, bytes or nanos; ``families`` are the operator names whose time it adds up."""

    name: str
    description: str
    kind: str
    families: tuple[str, ...] = ()


def _time(name: str, description: str, *families: str) -> FragmentMetric:
    return FragmentMetric(name=name, description=f"time in {description}", kind="nanos", families=families)


_TIMES = (
    _time("scanTime", "scan", "ParquetScan", "Range"),
    _time("receiveTime", "decoding input", "ExchangeSource"),
    _time("filterTime", "filter", "Filter", "RuntimeFilter"),
    _time("projectTime", "project", "Project"),
    _time("aggregateTime", "aggregate", "AggregateSink", "AggregateSource", "StreamingAggregate"),
    _time("joinBuildTime", "building join tables", "HashJoinBuild", "NestedLoopJoinBuild"),
    _time("joinProbeTime", "probing join tables", "HashJoinProbe", "NestedLoopJoinProbe"),
    _time("sortTime", "sort", "SortSink", "SortSource", "TopN"),
    _time(
        "partitionTime", "partitioning and sending",
        "HashExchange", "RangeExchange", "RangeSample", "SingleExchange", "RoundRobinExchange", "BroadcastExchange",
        "ResultSink", "LocalExchangeSink", "LocalExchangeSource",
    ),
)  # fmt: skip
_NAMED = {name for metric in _TIMES for name in metric.families}
_READERS = ("ParquetScan", "Range")
_SOURCES = (*_READERS, "ExchangeSource")

METRICS = (
    FragmentMetric(name="outputRows", description="number of output rows", kind="sum"),
    FragmentMetric(name="outputChunks", description="chunks sent", kind="sum"),
    FragmentMetric(name="outputBytes", description="bytes sent", kind="bytes"),
    FragmentMetric(name="inputRows", description="rows read", kind="sum"),
    FragmentMetric(name="inputBatches", description="batches read", kind="sum"),
    FragmentMetric(name="columnBytes", description="size of columns read", kind="bytes"),
    *_TIMES,
    _time("otherOperatorsTime", "other operators"),
    FragmentMetric(name="waitTime", description="time waiting", kind="nanos"),
    FragmentMetric(name="instanceTime", description="time of fragment instances in all", kind="nanos"),
    FragmentMetric(name="peakMemory", description="peak memory", kind="bytes"),
    FragmentMetric(name="spilledBytes", description="bytes spilled to disk", kind="bytes"),
    FragmentMetric(name="spillFiles", description="spill files written", kind="sum"),
    FragmentMetric(name="revocations", description="spills because another operator needed the memory", kind="sum"),
    FragmentMetric(name="rowGroupsPrunedByJoins", description="row groups skipped by runtime filters", kind="sum"),
    FragmentMetric(name="rowsDroppedByJoins", description="rows dropped by runtime filters", kind="sum"),
)

JVM_METRICS = (
    FragmentMetric(
        name="arrowChunks", description="chunks passed on to toArrow or toPandas without rows of them", kind="sum"
    ),
)
"""What the shim counts itself."""

TASK_METRICS = {
    "bytesRead": ("Input size", "compressed bytes of the columns of the row groups that scans read"),
    "recordsRead": ("Input records", "rows that scans and ranges gave"),
    "memoryBytesSpilled": ("Spill (memory)", "bytes that what operators spilled had in memory"),
    "diskBytesSpilled": ("Spill (disk)", "bytes of their spill files"),
    "peakExecutionMemory": ("Peak execution memory", "bytes that the instance's operators held at most"),
}
"""Spark's own metrics of a task that the shim adds to: their names for users, and what is in them."""


def fragment_metrics(report: Mapping[str, Any], seconds: float) -> Mapping[str, int]:
    """Give the value of every metric of :data:`METRICS` for an instance that ended after ``seconds``.

    ``report`` is what :meth:`FragmentInstance.metrics` gave.
    """
    families: Mapping[str, float] = report["families"]
    values = {metric.name: _nanos(sum(families.get(name, 0.0) for name in metric.families)) for metric in _TIMES}
    values["otherOperatorsTime"] = _nanos(sum(spent for name, spent in families.items() if name not in _NAMED))
    values["waitTime"] = _nanos(report["feed_s"] + report["consumer_s"])
    values["instanceTime"] = _nanos(seconds)
    values["peakMemory"] = report["peak_bytes"]
    sources = [pipeline["operators"][0] for pipeline in report["pipelines"]]
    scans = [op for op in sources if op["name"] in _SOURCES]
    sink = report["pipelines"][-1]["operators"][-1]
    values["inputRows"] = sum(_of(op, "rows_out") for op in scans)
    values["inputBatches"] = sum(_of(op, "chunks_out") for op in scans)
    values["columnBytes"] = _counted(report, COLUMN_BYTES)
    values["outputRows"] = _of(sink, "rows_in")
    values["outputChunks"] = report["output"]["pushed"]
    values["outputBytes"] = _of(sink.get("counters", {}), "bytes_sent")
    values["spilledBytes"] = _counted(report, SPILLED_BYTES)
    values["spillFiles"] = _counted(report, SPILL_FILES)
    values["revocations"] = _counted(report, REVOCATIONS)
    values["rowGroupsPrunedByJoins"] = _counted(report, PRUNED_BY_JOINS)
    values["rowsDroppedByJoins"] = _counted(report, DROPPED)
    return values


class Told:
    """What the JVM has been told of an instance that runs since ``began`` (s, ``time.perf_counter``), and what is new.

    ``where`` (stage, partition, attempt, process) goes into the profile.
    """

    def __init__(self, instance: FragmentInstance, where: Mapping[str, Any], began: float) -> None:
        self._instance = instance
        self._where = where
        self._began = began
        self._metrics: Mapping[str, int] = {}
        self._task: Mapping[str, int] = {}

    def more(self) -> dict[str, Any]:
        """Give what ``metrics`` and ``task`` grew by since the last call, and the whole ``profile``."""
        profile = {**self._instance.metrics(), **self._where}
        metrics = fragment_metrics(profile, time.perf_counter() - self._began)
        task = task_metrics(profile, metrics)
        told = {"metrics": _grown(metrics, self._metrics), "task": _grown(task, self._task)}
        self._metrics, self._task = metrics, task
        return told | {"profile": json.dumps(profile)}


def _grown(now: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    return {name: value - before.get(name, 0) for name, value in now.items()}


def task_metrics(report: Mapping[str, Any], metrics: Mapping[str, int]) -> Mapping[str, int]:
    """Give what an instance adds to each of :data:`TASK_METRICS`; ``metrics`` is what it adds to the fragment's."""
    operators = [operator for pipeline in report["pipelines"] for operator in pipeline["operators"]]
    return {
        "bytesRead": metrics["columnBytes"],
        "recordsRead": sum(_of(op, "rows_out") for op in operators if op["name"] in _READERS),
        "memoryBytesSpilled": _counted(report, SPILLED_MEMORY),
        "diskBytesSpilled": metrics["spilledBytes"],
        "peakExecutionMemory": metrics["peakMemory"],
    }


def _counted(report: Mapping[str, Any], counter: Counter) -> int:
    """Add up a counter over all operators."""
    operators = [operator for pipeline in report["pipelines"] for operator in pipeline["operators"]]
    return sum(_of(operator.get("counters", {}), counter.name) for operator in operators)


def _nanos(seconds: float) -> int:
    return int(seconds * 1e9)


def _of(values: Mapping[str, Any], key: str) -> int:
    return int(values.get(key, 0))
