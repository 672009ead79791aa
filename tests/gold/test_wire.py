"""Shim and worker agree on the wire: the worker reads the plans and control messages that the shim writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pyspark_pipeline.exchange.chunk_row import CHUNK_ROW_SCHEMA, unpack_rows
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


@pytest.mark.parametrize(
    "sizes", [[0], [9], [3] * 700, [0, 65_535, 65_536, 7], [60_000] * 40, [3_000_000, 1, 100_000, 100_001, 0]], ids=len
)
def test_the_worker_reads_the_messages_of_chunk_rows(spark: SparkSession, extension: None, sizes: list[int]) -> None:
    """Large rows have messages of their own, small ones share them; all keep their order."""
    jvm: Any = spark._jvm
    shim = jvm.org.apache.spark.sql.pysparkpipeline
    bytes_, rows = jvm.java.io.ByteArrayOutputStream(), jvm.java.util.ArrayList()
    datas = [bytes(place % 251 for place in range(number, number + size)) for number, size in enumerate(sizes)]
    for number, data in enumerate(datas):
        parts = jvm.scala.jdk.javaapi.CollectionConverters.asScala(jvm.java.util.List.of(data[:5], data[5:])).toSeq()
        rows.add(shim.ChunkRowWriter().write(number, -number, number + 1, 2**40 + number, 2**50 + number, parts))
    iterator = jvm.scala.jdk.javaapi.CollectionConverters.asScala(rows.iterator())
    shim.ChunkMessages().write(iterator, jvm.java.io.DataOutputStream(bytes_))
    schema = pa.schema([pa.field("struct", pa.struct(list(CHUNK_ROW_SCHEMA)))])
    stream = pa.BufferReader(schema.serialize().to_pybytes() + bytes_.toByteArray())
    batches = [pa.RecordBatch.from_struct_array(batch.column(0)) for batch in pa.ipc.open_stream(stream)]
    found = [row for batch in batches for row in unpack_rows(batch)]
    assert [row.data.to_pybytes() for row in found] == datas
    assert [(row.partition, row.driver, row.sender, row.sequence, row.rows) for row in found] == [
        (number, -number, number + 1, 2**40 + number, 2**50 + number) for number in range(len(sizes))
    ]
    assert len(batches) <= 1 + 2 * sum(size >= 65_536 for size in sizes) + len(sizes) // 256 + sum(sizes) // 2**20
