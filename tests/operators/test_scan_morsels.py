"""Drivers share a scan's row groups: a slow driver, in a file's footer or in a row group, does not block the others.

A slow driver waits at a gate that only the progress of the other drivers opens.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyspark_pipeline.errors import CorruptFileError
from pyspark_pipeline.exchange import SinkFactory, StreamTransport
from pyspark_pipeline.exec import FragmentInstance, OutputQueue, execute
from pyspark_pipeline.exec.blocking import Blocked, BlockingReason
from pyspark_pipeline.exec.event import Waker
from pyspark_pipeline.exec.operator_chain import OperatorChain
from pyspark_pipeline.operators.scan.morsels import MorselQueue
from pyspark_pipeline.operators.scan.parquet import format as parquet_format
from pyspark_pipeline.operators.scan.parquet.file import ParquetFileReader
from pyspark_pipeline.plan.nodes import FileScan, ResultSink, ScanSplit
from tests.operators.kit import DEFAULTS, Builder, fields, to_table

GATE_SECONDS = 20.0
NODE = FileScan(format="parquet", output=fields("n:bigint"), input_id=0, num_data_columns=1)


@pytest.fixture
def splits(tmp_path: Path) -> list[ScanSplit]:
    """Write four files of 3 row groups of 10 rows; n ascends over all files."""
    made = []
    for number in range(4):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table({"n": range(30 * number, 30 * number + 30)}), path, row_group_size=10)
        made.append(ScanSplit(path=str(path), start=0, length=path.stat().st_size))
    return made


def opened(split: ScanSplit) -> ParquetFileReader:
    return ParquetFileReader(split.path, NODE.output, True)


def run(splits: list[ScanSplit], drivers: int) -> tuple[list[int], FragmentInstance]:
    builder = Builder(dop=drivers, scans={0: splits})
    queue = OutputQueue(8)
    types = tuple(field.type for field in NODE.output)
    sink = SinkFactory(ResultSink(), types, DEFAULTS, StreamTransport(queue))
    builder.add_pipeline([*builder.decompose(NODE), sink])
    instance = FragmentInstance(builder.pipelines, queue)
    table = to_table(NODE, list(execute(instance, drivers)))
    return sorted(table.column("n").to_pylist()), instance


def test_opening_a_file_does_not_block_other_drivers(splits: list[ScanSplit]) -> None:
    """While the first file is opened, another driver takes all other morsels, then waits, then is woken."""
    taken: list[tuple[str, int]] = []
    woken: list[bool] = []

    def open_file(split: ScanSplit) -> ParquetFileReader:
        if split is splits[0]:
            while not queue.must_wait():
                morsel = queue.next()
                assert morsel is not None
                taken.append((morsel.split.path, morsel.group))
            assert queue.next() is None and not queue.is_ended()
        return opened(split)

    queue = MorselQueue(splits, open_file)
    queue.changed.subscribe(lambda: woken.append(queue.must_wait()))
    first = queue.next()
    assert first is not None and (first.split, first.group) == (splits[0], 0)
    assert taken == [(split.path, group) for split in splits[1:] for group in range(3)]
    assert woken[-1] is False
    assert [queue.next() is None for _ in range(3)] == [False, False, True]
    assert queue.is_ended() and queue.take_counts() == (4, 0, 0)


def test_driver_that_waits_for_a_file_is_woken_if_the_open_fails(splits: list[ScanSplit]) -> None:
    def fails(split: ScanSplit) -> ParquetFileReader:
        assert queue.must_wait()
        raise CorruptFileError(f"{split.path} is not Parquet")

    queue, woken = MorselQueue(splits[:1], fails), []
    queue.changed.subscribe(lambda: woken.append(1))
    with pytest.raises(CorruptFileError):
        queue.next()
    assert woken == [1] and queue.is_ended() and not queue.must_wait()


@pytest.mark.parametrize("drivers", [2, 3])
def test_slow_file_open_delays_only_its_driver(
    splits: list[ScanSplit], drivers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first file opens when the other files are read and another driver is blocked on it."""
    gate = threading.Event()
    block = OperatorChain.block

    def watched(chain: OperatorChain, waker: Waker) -> Blocked | None:
        blocked = block(chain, waker)
        if blocked is not None and blocked.reason is BlockingReason.SPLIT:
            gate.set()
        return blocked

    class Slow(ParquetFileReader):
        def __init__(self, path: str, *given: Any) -> None:
            if path == splits[0].path:
                assert gate.wait(GATE_SECONDS)
            super().__init__(path, *given)

    monkeypatch.setattr(OperatorChain, "block", watched)
    monkeypatch.setattr(parquet_format, "ParquetFileReader", Slow)
    rows, instance = run(splits, drivers)
    assert rows == list(range(120))
    assert instance.missed_wakeups == 0
    reasons = [driver.get("blocks", {}).keys() for driver in instance.metrics()["pipelines"][0]["drivers"]]
    assert any("split" in blocked for blocked in reasons)


class Gated(ParquetFileReader):
    """Delays the first row group until the others are read, and records the thread that reads each."""

    gate: threading.Event
    readers: dict[int, list[int]]

    def chunks(self, index: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
        self.readers.setdefault(threading.get_ident(), []).append(index)
        if index == 0:
            assert self.gate.wait(GATE_SECONDS)
        yield from super().chunks(index, batch_rows)
        if index == 2:
            self.gate.set()


def test_slow_reader_leaves_other_row_groups_to_other_drivers(
    splits: list[ScanSplit], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One driver reads row group 0 while the other reads all other row groups of the file."""
    Gated.gate, Gated.readers = threading.Event(), {}
    monkeypatch.setattr(parquet_format, "ParquetFileReader", Gated)
    rows, instance = run(splits[:1], 2)
    assert rows == list(range(30))
    assert sorted(Gated.readers.values()) == [[0], [1, 2]]
    drivers = instance.metrics()["pipelines"][0]["operators"][0]
    assert Counter(drivers["counters"])["row_groups_read"] == 3
