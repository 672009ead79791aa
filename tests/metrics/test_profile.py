"""The profile of a fragment adds up what its instances counted and draws the pipelines below their users."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from pyspark_pipeline.exec.execute import execute
from pyspark_pipeline.metrics.profile import added, drawn, operator_line, size
from pyspark_pipeline.plan.nodes import Limit
from tests.operators.aggregate_kit import chunks_of, leaf
from tests.operators.sort_kit import Direction, limited, sort

TABLE = pa.table({"k": pa.array([3, 1, 2], pa.int64())})


def report(limit: int | None = None, dop: int = 1) -> Any:
    """Run a sort; give its report as the JVM gets it."""
    node: Any = sort(leaf("k:bigint", chunks_of(TABLE, 2)), ["k"], [Direction()])
    if limit is not None:
        node = Limit(output=node.output, limit=limit, child=node)
    instance = limited(node, 10**9, dop=dop)
    assert list(execute(instance, dop))
    return json.loads(json.dumps(instance.metrics()))


def test_instances_with_the_same_pipelines_are_added_up_and_others_stay_apart() -> None:
    one, limited, two = report(), report(limit=2), report(dop=2)
    kinds = added([one, limited, two])
    assert [kind["instances"] for kind in kinds] == [2, 1]
    sinks = [kind["pipelines"][0]["operators"][-1] for kind in kinds]
    assert [(sink["name"], sink["rows_in"]) for sink in sinks] == [("SortSink", 6), ("SortSink", 3)]
    assert [pipeline["drivers"] for pipeline in kinds[0]["pipelines"]] == [3, 3]
    assert kinds[0]["peak_bytes"] == max(one["peak_bytes"], two["peak_bytes"])


def test_what_failed_tasks_did_stands_apart_and_last() -> None:
    one, failed, two = report(), {**report(), "failed": True}, report()
    assert [(kind["failed"], kind["instances"]) for kind in added([failed, one, two])] == [(False, 2), (True, 1)]


def test_a_pipeline_stands_below_the_operator_that_needs_it() -> None:
    (kind,) = added([report()])
    names = [line.split(":")[0].split(",")[0] for line in drawn(kind)]
    assert names == [
        "pipeline 1", "  ResultSink", "  SortSource", "    pipeline 0", "      SortSink", "      Chunks",
    ]  # fmt: skip


def test_a_line_tells_rows_time_waits_memory_and_counters() -> None:
    operator = {
        "name": "SortSink", "rows_in": 1234, "bytes_in": 20480, "chunks_in": 2, "total_s": 0.5, "peak_bytes": 3 << 20,
        "blocked_s": {"producer": 0.25}, "counters": {"spilled_bytes": 1 << 20, "encoding_ns": 10**9, "null_keys": 0},
    }  # fmt: skip
    assert operator_line(operator) == (
        "SortSink: 1,234 rows in (20 KiB, 2 chunks), 0.500 s, blocked 0.250 s by producer, peak 3072 KiB, "
        "spilled bytes 1024 KiB, encoding 1.000 s"
    )


def test_sizes_keep_four_digits_at_most() -> None:
    assert [size(n) for n in (0, 9999, 10_000, 1 << 30, 1 << 40)] == ["0 B", "9999 B", "10 KiB", "1024 MiB", "1024 GiB"]
