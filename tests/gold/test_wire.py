"""Shim and worker agree on the wire: the worker reads the plans and control messages that the shim writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pyspark_pipeline.operators import operator_manifest
from pyspark_pipeline.plan.layout import KINDS, WIRE_VERSION, check_layout, numbers_of
from pyspark_pipeline.plan.wire import decode_fragment
from pyspark_pipeline.task.capture import Capture
from tests.support.sessions import ENABLED, configured
from tests.support.tables import TableShelf

#: Queries, and how many nodes of a kind one of their fragments has at least.
_QUERIES = {
    "a union of scans and ranges below a join with a union": (
        {"scan": 3, "union": 1},
        "SELECT count(*) FROM (SELECT id FROM tame WHERE id < 9 UNION ALL SELECT id FROM range(7)) a "
        "JOIN (SELECT id FROM range(5) UNION ALL SELECT id FROM range(3) UNION ALL SELECT id FROM tame) b USING (id)"
    ),
    "broadcasts on both sides of a shuffled join": (
        {"broadcast": 1},
        "SELECT /*+ MERGE(x, y) */ x.id FROM "
        "(SELECT /*+ BROADCAST(b) */ a.id FROM tame a JOIN tame b ON a.i = b.i) x JOIN "
        "(SELECT /*+ BROADCAST(b) */ a.id FROM tame a LEFT SEMI JOIN tame b ON a.l = b.l) y ON x.id = y.id"
    ),
    "a cartesian product of unions": (
        {"scan": 4, "union": 2},
        "SELECT count(*) FROM (SELECT id FROM range(4) UNION ALL SELECT id FROM range(2)) a, "
        "(SELECT id FROM range(3) UNION ALL SELECT id FROM tame WHERE id < 5) b WHERE a.id < b.id"
    ),
    "a window over an aggregation": (
        {"input": 1},
        "SELECT k, rank() OVER (ORDER BY sum(i)) AS r FROM tame GROUP BY k",
    ),
}


def _numbered(node: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the kinds and numbers of a plan's JSON in preorder."""
    yield from ((kind, node[kind]) for kind in KINDS if kind in node)
    for child in node.get("children", ()):
        yield from _numbered(child)


@pytest.mark.parametrize("aqe", ["true", "false"])
@pytest.mark.parametrize("name", _QUERIES)
def test_the_worker_reads_the_numbers_that_the_shim_assigns(
    spark: SparkSession, tables: TableShelf, tmp_path: Path, name: str, aqe: str
) -> None:
    tables.use(["tame"])
    settings = {
        ENABLED: "true",
        "spark.sql.adaptive.enabled": aqe,
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.pysparkPipeline.capture.folder": str(tmp_path),
    }
    wanted, query = _QUERIES[name]
    with configured(spark, settings):
        spark.sql(query).collect()
    captures = [Capture(folder) for folder in sorted(tmp_path.iterdir())]
    assert captures
    for capture in captures:
        text = (capture.folder / "fragment.json").read_text(encoding="utf-8")
        control = capture.control()
        written = list(_numbered(json.loads(text)["root"]))
        fragment = decode_fragment(text)
        check_layout(fragment, control)
        assert json.loads(text)["version"] == control["version"] == WIRE_VERSION
        assert sorted(control["counts"]) == sorted(KINDS)
        for kind, numbers in numbers_of(fragment.root).items():
            assert [number for key, number in written if key == kind] == numbers == list(range(control["counts"][kind]))
        assert set(map(int, control["splits"])) <= set(range(control["counts"]["scan"]))
        assert set(map(int, control["branches"])) <= set(range(control["counts"]["union"]))
        assert sorted(control["inputOrder"]) == list(range(control["counts"]["input"]))
        assert len(fragment.broadcasts) == control["counts"]["broadcast"]
    most = {kind: max(capture.control()["counts"][kind] for capture in captures) for kind in KINDS}
    assert all(most[kind] >= count for kind, count in wanted.items()), most


def test_every_operator_of_the_manifest_has_a_rule(spark: SparkSession) -> None:
    rules = spark._jvm.org.apache.spark.sql.pysparkpipeline.OperatorRules
    assert rules.names().split(",") == sorted(operator_manifest())
