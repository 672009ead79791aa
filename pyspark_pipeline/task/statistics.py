"""The mapping from an instance's counters to the Spark SQL metrics of its fragment.

The manifest contains this table, so the shim creates the metrics from it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark_pipeline.exec import FragmentInstance
from pyspark_pipeline.memory import RECLAIMS
from pyspark_pipeline.memory.spill_files import SPILL_FILES, SPILLED_BYTES, SPILLED_MEMORY
from pyspark_pipeline.metrics import Counter
from pyspark_pipeline.operators.joins.row_filter import DROPPED
from pyspark_pipeline.operators.scan.file_scan import COLUMN_BYTES, LEFT_OUT, PRUNED_BY_JOINS


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentMetric:
    """One SQL metric: ``kind`` is sum, bytes or nanos.

    ``families`` are the operator names whose times are summed. The metric applies to fragments with one of
    ``operators`` (names as in a manifest's pipelines, ``ExchangeSource`` for inputs), or to all if that is empty.
    ``shown``: whether Spark's UI shows it.
    """

    name: str
    description: str
    kind: str
    families: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    shown: bool = True


def _time(name: str, description: str, *families: str, operators: tuple[str, ...] | None = None) -> FragmentMetric:
    applies = families if operators is None else operators
    described = f"time in {description}"
    return FragmentMetric(name=name, description=described, kind="nanos", families=families, operators=applies)


_JOINS = ("HashJoinProbe",)
_SPILLING = ("AggregateSink", "HashJoinBuild", "NestedLoopJoinBuild", "SortSink")


_TIMES = (
    _time("scanTime", "scan", "FileScan", "Range", "LocalRows"),
    _time("receiveTime", "decoding input", "ExchangeSource"),
    _time("filterTime", "filter", "Filter"),
    _time("runtimeFilterTime", "runtime filters", "RuntimeFilter", operators=_JOINS),
    _time("projectTime", "project", "Project"),
    _time("aggregateTime", "aggregate", "AggregateSink", "AggregateSource", "StreamingAggregate", "GroupingSets"),
    _time("joinBuildTime", "building join tables", "HashJoinBuild", "NestedLoopJoinBuild"),
    _time("joinProbeTime", "probing join tables", "HashJoinProbe", "NestedLoopJoinProbe"),
    _time("sortTime", "sort", "SortSink", "SortSource", "TopN"),
    _time(
        "partitionTime", "partitioning and sending",
        "HashExchange", "RangeExchange", "RangeSample", "SingleExchange", "RoundRobinExchange", "BroadcastExchange",
        "ResultSink", "LocalExchangeSink", "LocalExchangeSource", operators=(),
    ),
)  # fmt: skip
_NAMED = {name for metric in _TIMES for name in metric.families}
_SAMPLE = "RangeSample"
_READERS = ("FileScan", "Range", "LocalRows")
_SOURCES = (*_READERS, "ExchangeSource")

#: Fragments with expressions that Spark evaluates count as fragments with this operator.
JVM_EXPRESSIONS = ("JvmExpression",)

METRICS = (
    FragmentMetric(name="outputRows", description="number of output rows", kind="sum"),
    FragmentMetric(name="outputChunks", description="chunks sent", kind="sum"),
    FragmentMetric(name="outputBytes", description="bytes sent", kind="bytes"),
    FragmentMetric(name="inputRows", description="rows read", kind="sum"),
    FragmentMetric(name="inputBatches", description="batches read", kind="sum"),
    FragmentMetric(name="columnBytes", description="size of columns read", kind="bytes", operators=("FileScan",)),
    *_TIMES,
    _time("otherOperatorsTime", "other operators", operators=("Expand", "Limit", "Window", "WindowGroupLimit")),
    FragmentMetric(name="waitTime", description="time waiting", kind="nanos"),
    FragmentMetric(name="instanceTime", description="time of fragment instances in all", kind="nanos"),
    FragmentMetric(name="peakMemory", description="peak memory", kind="bytes"),
    FragmentMetric(name="spilledBytes", description="bytes spilled to disk", kind="bytes", operators=_SPILLING),
    FragmentMetric(name="spillFiles", description="spill files written", kind="sum", operators=_SPILLING),
    FragmentMetric(
        name="revocations", description="spills because another operator needed the memory", kind="sum",
        operators=_SPILLING,
    ),
    FragmentMetric(
        name="rowGroupsPrunedByJoins", description="row groups skipped by runtime filters", kind="sum",
        operators=_JOINS,
    ),
    FragmentMetric(
        name="rowsDroppedByJoins", description="rows dropped by runtime filters", kind="sum", operators=_JOINS
    ),
)  # fmt: skip

JVM_METRICS = (
    FragmentMetric(
        name="arrowChunks", description="chunks passed on to toArrow or toPandas without rows of them", kind="sum",
        shown=False,
    ),
    FragmentMetric(
        name="jvmExpressionRows", description="values of expressions that Spark evaluated", kind="sum",
        operators=JVM_EXPRESSIONS,
    ),
    FragmentMetric(
        name="jvmExpressionTime", description="time of Spark in expressions", kind="nanos", operators=JVM_EXPRESSIONS
    ),
)  # fmt: skip
"""Metrics that the shim counts itself."""

TASK_METRICS = {
    "bytesRead": ("Input size", "compressed bytes of the columns of the row groups that scans read"),
    "recordsRead": ("Input records", "rows that scans read and ranges gave"),
    "memoryBytesSpilled": ("Spill (memory)", "bytes that what operators spilled had in memory"),
    "diskBytesSpilled": ("Spill (disk)", "bytes of their spill files"),
    "peakExecutionMemory": ("Peak execution memory", "bytes that the instance's operators held at most"),
}
"""Spark's own task metrics that the shim adds to: their display names and contents."""


def fragment_metrics(report: Mapping[str, Any], seconds: float) -> Mapping[str, int]:
    """Return the value of every metric of :data:`METRICS` for an instance that ran for ``seconds``.

    ``report`` is the result of :meth:`FragmentInstance.metrics`.
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
    values["inputRows"] = sum(_of(op, "rows_out") for op in scans) + _counted(report, LEFT_OUT)
    values["inputBatches"] = sum(_of(op, "chunks_out") for op in scans)
    values["columnBytes"] = _counted(report, COLUMN_BYTES)
    is_sample = sink["name"] == _SAMPLE  # of rows that the fragment makes again to send them
    values["outputRows"] = 0 if is_sample else _of(sink, "rows_in")
    values["outputChunks"] = 0 if is_sample else report["output"]["pushed"]
    values["outputBytes"] = 0 if is_sample else _of(sink.get("counters", {}), "bytes_sent")
    values["spilledBytes"] = _counted(report, SPILLED_BYTES)
    values["spillFiles"] = _counted(report, SPILL_FILES)
    values["revocations"] = _counted(report, RECLAIMS)
    values["rowGroupsPrunedByJoins"] = _counted(report, PRUNED_BY_JOINS)
    values["rowsDroppedByJoins"] = _counted(report, DROPPED)
    return values


class StatisticsReporter:
    """Computes the statistics of an instance to report to the JVM; ``began`` is its start (s, ``time.perf_counter``).

    ``where`` (stage, partition, attempt, process) is part of the profile.
    """

    def __init__(self, instance: FragmentInstance, where: Mapping[str, Any], began: float) -> None:
        self._instance = instance
        self._where = where
        self._began = began
        self._metrics: Mapping[str, int] = {}
        self._task: Mapping[str, int] = {}

    def delta(self) -> dict[str, Any]:
        """Return the change of ``metrics`` and ``task`` since the last call, and the whole ``profile``."""
        profile = {**self._instance.metrics(), **self._where}
        metrics = fragment_metrics(profile, time.perf_counter() - self._began)
        task = task_metrics(profile, metrics)
        delta = {"metrics": _difference(metrics, self._metrics), "task": _difference(task, self._task)}
        self._metrics, self._task = metrics, task
        return delta | {"profile": json.dumps(profile)}


def _difference(now: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    return {name: value - before.get(name, 0) for name, value in now.items()}


def task_metrics(report: Mapping[str, Any], metrics: Mapping[str, int]) -> Mapping[str, int]:
    """Return an instance's values of :data:`TASK_METRICS`; ``metrics`` are its fragment metrics."""
    operators = [operator for pipeline in report["pipelines"] for operator in pipeline["operators"]]
    read = sum(_of(operator, "rows_out") for operator in operators if operator["name"] in _READERS)
    return {
        "bytesRead": metrics["columnBytes"],
        "recordsRead": read + _counted(report, LEFT_OUT),
        "memoryBytesSpilled": _counted(report, SPILLED_MEMORY),
        "diskBytesSpilled": metrics["spilledBytes"],
        "peakExecutionMemory": metrics["peakMemory"],
    }


def _counted(report: Mapping[str, Any], counter: Counter) -> int:
    """Return the sum of a counter over all operators."""
    operators = [operator for pipeline in report["pipelines"] for operator in pipeline["operators"]]
    return sum(_of(operator.get("counters", {}), counter.name) for operator in operators)


def _nanos(seconds: float) -> int:
    return int(seconds * 1e9)


def _of(values: Mapping[str, Any], key: str) -> int:
    return int(values.get(key, 0))
