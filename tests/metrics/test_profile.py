"""The profile of a fragment sums the metrics of its instances and draws pipelines below their dependents."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from pyspark_pipeline.exec.execute import execute
from pyspark_pipeline.metrics.profile import draw_tree, merge_reports, operator_line, size
from pyspark_pipeline.plan.nodes import Limit
from tests.operators.aggregate_kit import chunks_of, leaf
from tests.operators.sort_kit import Direction, limited, sort

TABLE = pa.table({"k": pa.array([3, 1, 2], pa.int64())})


def report(limit: int | None = None, dop: int = 1) -> Any:
    """Run a sort; return its report as the JVM receives it."""
    node: Any = sort(leaf("k:bigint", chunks_of(TABLE, 2)), ["k"], [Direction()])
    if limit is not None:
        node = Limit(output=node.output, limit=limit, child=node)
    instance = limited(node, 10**9, dop=dop)
    assert list(execute(instance, dop))
    return json.loads(json.dumps(instance.metrics()))


def test_reports_are_merged_by_equal_pipelines() -> None:
    one, limited, two = report(), report(limit=2), report(dop=2)
    kinds = merge_reports([one, limited, two])
    assert [kind["instances"] for kind in kinds] == [2, 1]
    sinks = [kind["pipelines"][0]["operators"][-1] for kind in kinds]
    assert [(sink["name"], sink["rows_in"]) for sink in sinks] == [("SortSink", 6), ("SortSink", 3)]
    assert [pipeline["drivers"] for pipeline in kinds[0]["pipelines"]] == [3, 3]
    assert kinds[0]["peak_bytes"] == max(one["peak_bytes"], two["peak_bytes"])


def test_reports_of_failed_tasks_are_merged_separately_and_last() -> None:
    one, failed, two = report(), {**report(), "failed": True}, report()
    kinds = merge_reports([failed, one, two])
    assert [(kind["failed"], kind["instances"]) for kind in kinds] == [(False, 2), (True, 1)]


def test_pipeline_is_drawn_below_the_operator_that_depends_on_it() -> None:
    (kind,) = merge_reports([report()])
    names = [line.split(":")[0].split(",")[0] for line in draw_tree(kind)]
    assert names == [
        "pipeline 1", "  ResultSink", "  SortSource", "    pipeline 0", "      SortSink", "      Chunks",
    ]  # fmt: skip


def test_operator_line_has_rows_time_waits_memory_and_counters() -> None:
    operator = {
        "name": "SortSink", "rows_in": 1234, "bytes_in": 20480, "chunks_in": 2, "total_s": 0.5, "peak_bytes": 3 << 20,
        "blocked_s": {"producer": 0.25}, "counters": {"spilled_bytes": 1 << 20, "encoding_ns": 10**9, "null_keys": 0},
    }  # fmt: skip
    assert operator_line(operator) == (
        "SortSink: 1,234 rows in (20 KiB, 2 chunks), 0.500 s, blocked 0.250 s by producer, peak 3072 KiB, "
        "spilled bytes 1024 KiB, encoding 1.000 s"
    )


def test_size_has_at_most_four_digits() -> None:
    assert [size(n) for n in (0, 9999, 10_000, 1 << 30, 1 << 40)] == ["0 B", "9999 B", "10 KiB", "1024 MiB", "1024 GiB"]
