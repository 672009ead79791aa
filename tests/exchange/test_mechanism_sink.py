"""The mechanisms of exchange sinks: choice by peer, send paths, sequences, back-pressure, finish."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.exchange import (
    ChunkRow,
    SinkFactory,
    StreamTransport,
    decode_chunk,
    encode_chunk,
    plain_schema,
)
from pyspark_pipeline.exchange.channel import Channel
from pyspark_pipeline.exchange.hash_sink import HashSinkOperator
from pyspark_pipeline.exchange.single_sink import ResultSinkOperator, RoundRobinSinkOperator, SingleSinkOperator
from pyspark_pipeline.exec import FragmentInstance, OutputQueue, Pipeline, execute
from pyspark_pipeline.memory import MemoryTracker
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.nodes import HashExchange, ResultSink, RoundRobinExchange, Settings, SingleExchange, Sink
from tests.exec.kit import Made, Source
from tests.operators.kit import Chunks, column, fields

NODE = Chunks(output=fields("k:bigint"))
TYPES = tuple(field.type for field in NODE.output)
SCHEMA = plain_schema(TYPES)
BY_KEY = HashExchange(keys=(column(NODE, "k"),), num_partitions=4)


def chunk(start: int, rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(np.arange(start, start + rows))], schema=SCHEMA)


def factory(sink: Sink, queue: OutputQueue, max_rows: int | None = None, **options: Any) -> SinkFactory:
    texts = {f"exchange.{key}": str(value) for key, value in options.items()}
    settings = Settings(ansi=True, time_zone="UTC", options=Options(texts))
    return SinkFactory(sink, TYPES, settings, StreamTransport(queue, sender=7), max_rows=max_rows)


def instance(
    sinks: SinkFactory, queue: OutputQueue, given: Callable[[int], list[pa.RecordBatch]], dop: int = 1
) -> FragmentInstance:
    sources = Made("source", lambda driver: Source(given(driver)))
    return FragmentInstance([Pipeline(id=0, factories=(sources, sinks), dop=dop)], queue)


def drained(queue: OutputQueue) -> list[ChunkRow]:
    return [queue.pop() for _ in range(len(queue))]


def numbers(rows: list[ChunkRow]) -> list[int]:
    return [n for row in rows for n in decode_chunk(row.data, SCHEMA).column(0).to_pylist()]


SINKS = [
    (ResultSink(), ResultSinkOperator),
    (SingleExchange(), SingleSinkOperator),
    (BY_KEY, HashSinkOperator),
    (HashExchange(keys=BY_KEY.keys, num_partitions=1), SingleSinkOperator),
    (RoundRobinExchange(num_partitions=3), RoundRobinSinkOperator),
]


@pytest.mark.parametrize(("sink", "operator"), SINKS)
def test_factory_creates_sink_operator_of_plan_sink(sink: Sink, operator: type) -> None:
    assert type(factory(sink, OutputQueue()).create(2, 1)) is operator


@pytest.mark.parametrize(("max_rows", "sent"), [(None, [25, 7]), (10, [10, 10, 5, 7]), (1000, [25, 7])])
def test_result_messages_have_at_most_max_rows(max_rows: int | None, sent: list[int]) -> None:
    given = [chunk(0, 25), chunk(25, 7)]
    queue = OutputQueue()
    rows = list(execute(instance(factory(ResultSink(), queue, max_rows), queue, lambda _driver: given)))
    assert [row.rows for row in rows] == sent
    assert numbers(rows) == list(range(32))


def test_channel_sends_chunk_at_once_and_buffers_rows() -> None:
    queue = OutputQueue()
    transport = StreamTransport(queue)
    channel = Channel(
        destinations=(0,), transport=transport, pack=transport.pack, chunk_rows=100, chunk_bytes=240
    )
    channel.add_rows(chunk(0, 10), 80)
    channel.add_rows(chunk(10, 19), 152)
    assert not len(queue) and (channel.rows, channel.nbytes) == (29, 232)
    channel.add_rows(chunk(29, 1), 8)
    assert [row.rows for row in drained(queue)] == [30] and channel.nbytes == 0
    channel.send_chunk(chunk(0, 5))
    assert [row.rows for row in drained(queue)] == [5]
    channel.add_rows(chunk(0, 20), 160)
    channel.add_rows(chunk(20, 90), 10)
    assert [row.rows for row in drained(queue)] == [20]  # both together exceed chunk_rows
    channel.flush()
    assert numbers(drained(queue)) == list(range(20, 110))
    assert (channel.sent_messages, channel.sent_bytes > 0) == (4, True)


def test_transport_numbers_messages_across_threads() -> None:
    queue = OutputQueue()
    transport = StreamTransport(queue, sender=7)
    data = encode_chunk(chunk(0, 1))

    def sender() -> None:
        for i in range(600):
            transport.send(i % 3, -1, 1, data)

    threads = [threading.Thread(target=sender) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = drained(queue)
    assert {row.sender for row in rows} == {7}
    for destination in range(3):
        assert [row.sequence for row in rows if row.partition == destination] == list(range(800))


def test_hash_sink_keeps_row_order_and_skips_empty_partitions() -> None:
    queue = OutputQueue()
    made = factory(HashExchange(keys=BY_KEY.keys, num_partitions=500), queue)
    rows = list(execute(instance(made, queue, lambda _: [chunk(i * 40, 40) for i in range(5)])))
    assert len(rows) < 200 and all(row.rows for row in rows)
    for destination in {row.partition for row in rows}:
        mine = numbers([row for row in rows if row.partition == destination])
        assert mine == sorted(mine)
    assert sorted(numbers(rows)) == list(range(200))


@pytest.fixture
def leaked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Collect the unreleased bytes of every tracker at its close."""
    found: list[int] = []
    close = MemoryTracker.close
    monkeypatch.setattr(MemoryTracker, "close", lambda self: found.append(close(self)))
    return found


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("sink", [ResultSink(), BY_KEY])
def test_stalled_consumer_blocks_sink_drivers(sink: Sink, threads: int, leaked: list[int]) -> None:
    queue = OutputQueue(capacity=3)
    sinks = factory(sink, queue, bufferBytes=2000, chunkBytes=800)
    running = instance(sinks, queue, lambda _: [chunk(i * 100, 100) for i in range(2000)], dop=2)
    items = execute(running, threads)
    next(items)
    threading.Event().wait(0.2)
    assert len(queue) <= 3 + 2 * 4
    assert sum(driver.metrics.moves for driver in running.drivers) < 40
    assert len([next(items) for _ in range(50)]) == 50
    assert any("consumer" in driver.metrics.blocks for driver in running.drivers)
    items.close()
    assert set(leaked) == {0}


@pytest.mark.parametrize("threads", [1, 3])
def test_output_ends_after_last_driver_has_flushed(threads: int, leaked: list[int]) -> None:
    queue = OutputQueue(capacity=2)
    made = factory(BY_KEY, queue)
    counts = (0, 1, 300)
    running = instance(made, queue, lambda driver: [chunk(driver * 1000 + i, 1) for i in range(counts[driver])], dop=3)
    rows = list(execute(running, threads))
    assert sorted(numbers(rows)) == [1000, *range(2000, 2300)]
    assert set(leaked) == {0} and running.memory.peak > 0
    counters = running.metrics()["pipelines"][0]["operators"][-1]["counters"]
    assert counters["messages_sent"] == len(rows)
    assert counters["bytes_sent"] == sum(row.data.size for row in rows)
    assert counters["placing_ns"] > 0 < counters["encoding_ns"]


@pytest.mark.parametrize("threads", [1, 3])
def test_tail_rows_of_drivers_share_one_message_per_channel(
    threads: int, leaked: list[int]
) -> None:
    queue = OutputQueue()
    running = instance(factory(BY_KEY, queue), queue, lambda driver: [chunk(driver * 100, 100)], dop=3)
    rows = list(execute(running, threads))
    assert sorted(row.partition for row in rows) == [0, 1, 2, 3]
    assert sorted(numbers(rows)) == list(range(300))
    assert set(leaked) == {0}


@pytest.mark.parametrize("threads", [1, 2])
def test_tail_rows_of_ended_drivers_are_counted_and_freed_on_cancel(threads: int, leaked: list[int]) -> None:
    queue = OutputQueue(capacity=2)
    sinks = factory(BY_KEY, queue, bufferBytes=2000, chunkBytes=800)
    counts = (1, 2000)
    running = instance(sinks, queue, lambda driver: [chunk(0, 10 + 90 * driver)] * counts[driver], dop=2)
    items = execute(running, threads)
    next(items)
    deadline = time.monotonic() + 10
    while not running.drivers[0].is_done and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ("rows of sinks that ended", 80) in running.memory.holders()
    items.close()
    assert set(leaked) == {0} and running.memory.held == 0
