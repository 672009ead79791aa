"""A scan in another pipeline than the join waits for its table until a deadline, then prunes the remaining row groups.

The order of events is forced by gates that the other side opens, never by time.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exchange import SinkFactory, StreamTransport
from pyspark_pipeline.exec import FragmentInstance, OutputQueue, execute
from pyspark_pipeline.exec.bridge import Bridge
from pyspark_pipeline.exec.topology import dependencies
from pyspark_pipeline.operators.scan.parquet import format as parquet_format
from pyspark_pipeline.operators.scan.parquet.file import ParquetFileReader
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.joins import JoinType
from pyspark_pipeline.plan.nodes import FileScan, Node, ResultSink, ScanSplit, Settings
from pyspark_pipeline.plan.unions import Union
from tests.exec.test_deadline import deadlines
from tests.operators.join_kit import join, side
from tests.operators.kit import Builder, ChunksOperator, fields, to_table

GATE_SECONDS = 20.0
TEN_MINUTES = 600_000
OUTPUT = fields("k:bigint")
KEYS = [10, 40]
both = pytest.mark.parametrize("threads", [1, 3])


class AllBranches(Builder):
    """Runs all inputs of a union in one instance, or the one at ``place``."""

    place: int | None = None

    def active_input(self, union: Node) -> Any:
        return self.place


@pytest.fixture
def splits(tmp_path: Path) -> list[ScanSplit]:
    """Write two files of ten row groups; k is the number of the group, from 0 in one and from 10 in the other."""
    made = []
    for first in (0, 10):
        path = tmp_path / f"{first}.parquet"
        pq.write_table(pa.table({"k": [first + i // 5 for i in range(50)]}), path, row_group_size=5)
        made.append(ScanSplit(path=str(path), start=0, length=path.stat().st_size))
    return made


def scan(number: int) -> FileScan:
    return FileScan(format="parquet", output=OUTPUT, input_id=number, num_data_columns=1)


def plan(inputs: int, keys: Sequence[int] = (3, 12)) -> Node:
    """Build the join of the union of ``inputs`` scans with a few keys."""
    union = Union(output=OUTPUT, inputs=tuple(scan(number) for number in range(inputs)))
    return join(union, side("k:bigint, s:string", [(key, "s") for key in keys], 10), JoinType.INNER, False, ["k"])


class Run:
    """An executed plan: its keys and the counters of its scans."""

    def __init__(
        self, node: Node, splits: Sequence[ScanSplit], wait_ms: int, threads: int, place: int | None = None
    ) -> None:
        options = Options({"join.runtimeFilter.waitMs": str(wait_ms), "debug.checkChunks": "true"})
        settings = Settings(ansi=True, time_zone="UTC", options=options)
        builder = AllBranches(settings, scans={number: [split] for number, split in enumerate(splits)})
        builder.place = place
        queue = OutputQueue(8)
        sink = SinkFactory(ResultSink(), tuple(f.type for f in node.output), settings, StreamTransport(queue))
        builder.add_pipeline([*builder.decompose(node), sink])
        self.instance = instance = FragmentInstance(builder.pipelines, queue, check=builder.checker())
        self.pipelines = builder.pipelines
        table = to_table(node, list(execute(instance, threads)))
        self.keys = sorted(table.column(0).to_pylist())
        scans = [o for p in instance.metrics()["pipelines"] for o in p["operators"] if o["name"] == "FileScan"]
        self.waits = [scanned.get("blocked_s", {}).keys() for scanned in scans]
        self.counters: Counter[str] = Counter()
        for scanned in scans:
            self.counters.update(scanned.get("counters", {}))


@both
def test_scans_below_a_union_wait_for_the_join_table(splits: list[ScanSplit], threads: int) -> None:
    found = Run(plan(2), splits, TEN_MINUTES, threads)
    assert dependencies(found.pipelines) == {0: [], 1: [], 2: [], 3: [1, 2, 0]}
    assert found.keys == [3] * 5 + [12] * 5
    assert found.waits == [{"runtime filter"}] * 2
    assert (found.counters["row_groups_pruned_by_joins"], found.counters["row_groups_read"]) == (18, 2)
    assert found.instance.missed_wakeups == 0 and deadlines() == []


@both
def test_scan_in_the_probe_pipeline_waits_only_for_its_join(splits: list[ScanSplit], threads: int) -> None:
    found = Run(plan(2, [12]), splits, TEN_MINUTES, threads, place=1)
    assert found.keys == [12] * 5 and found.counters["row_groups_pruned_by_joins"] == 9
    assert "runtime filter" not in found.waits[0] and deadlines() == []


class Gate:
    """Delays the build until the scan reads row group ``held_at``, and that read until the table is built."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, held_at: int) -> None:
        self.scanned, self.built = threading.Event(), threading.Event()
        gate, pull, publish = self, ChunksOperator.pull_chunk, Bridge.publish

        class Reader(ParquetFileReader):
            def chunks(self, index: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
                if index >= held_at:
                    gate.scanned.set()
                    assert gate.built.wait(GATE_SECONDS)
                yield from super().chunks(index, batch_rows)

        def late(operator: ChunksOperator) -> Any:
            assert gate.scanned.wait(GATE_SECONDS)
            return pull(operator)

        def published(bridge: Bridge[Any], value: Any) -> None:
            publish(bridge, value)
            gate.built.set()

        monkeypatch.setattr(parquet_format, "ParquetFileReader", Reader)
        monkeypatch.setattr(ChunksOperator, "pull_chunk", late)
        monkeypatch.setattr(Bridge, "publish", published)


@pytest.mark.parametrize("wait_ms", [0, 1])
def test_scan_continues_after_the_deadline_and_prunes_remaining_row_groups(
    splits: list[ScanSplit], wait_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The build begins and ends while the third of ten row groups is read."""
    Gate(monkeypatch, held_at=2)
    found = Run(plan(1, [1, 8]), splits[:1], wait_ms, 3)
    assert found.keys == [1] * 5 + [8] * 5
    assert found.waits[0] <= ({"runtime filter"} if wait_ms else set())
    assert (found.counters["row_groups_pruned_by_joins"], found.counters["row_groups_read"]) == (6, 4)
    assert found.instance.missed_wakeups == 0 and deadlines() == []


@both
def test_error_during_the_wait_leaves_no_thread(
    splits: list[ScanSplit], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    running: list[str] = []

    def fails(operator: ChunksOperator) -> Any:
        running.extend(deadlines())
        raise ValueError("no build today")

    monkeypatch.setattr(ChunksOperator, "pull_chunk", fails)
    with pytest.raises(EngineBugError, match="no build today"):
        Run(plan(2), splits, TEN_MINUTES, threads)
    assert len(running) == 2 and deadlines() == []
