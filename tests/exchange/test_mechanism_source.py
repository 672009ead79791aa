"""The receiving end: read-ahead, back-pressure, and drivers without input."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.exchange import ChunkRow, ExchangeSourceFactory, encode_chunk, plain_schema
from pyspark_pipeline.exchange.chunk_row import pack_rows
from pyspark_pipeline.exchange.client import ExchangeClient
from pyspark_pipeline.exec import FragmentInstance, OperatorFactory, OutputQueue, Pipeline, execute
from pyspark_pipeline.exec.input_queue import InputFeed, InputQueue
from pyspark_pipeline.exec.output_sink import OutputSinkFactory
from pyspark_pipeline.operators.limit import LimitFactory
from pyspark_pipeline.plan.nodes import ExchangeSource
from tests.exec.kit import Made, Step
from tests.operators.kit import fields

NODE = ExchangeSource(output=fields("k:bigint"), input_id=0)
SCHEMA = plain_schema([field.type for field in NODE.output])
ROWS = 10


class Input:
    """A stream of messages of ten rows that counts the messages read."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.read = 0
        self.bound = 2

    def __iter__(self) -> Iterator[tuple[int, ChunkRow]]:
        while self.read < self.count:
            column = pa.array(np.arange(self.read * ROWS, (self.read + 1) * ROWS))
            self.read += 1
            data = encode_chunk(pa.RecordBatch.from_arrays([column], schema=SCHEMA))
            yield 0, ChunkRow(partition=0, rows=ROWS, data=data)

    def instance(self, *above: OperatorFactory, dop: int = 1, batch_rows: int = 10, room: int = 4) -> FragmentInstance:
        queue, output = InputQueue("input 0", bound=self.bound), OutputQueue(room)
        source = ExchangeSourceFactory(NODE, queue, batch_rows)
        pipeline = Pipeline(id=0, factories=(source, *above, OutputSinkFactory(output)), dop=dop)
        return FragmentInstance([pipeline], output, feed=InputFeed(iter(self), {0: queue}))


def values(chunks: list[pa.RecordBatch]) -> list[int]:
    return [value for chunk in chunks for value in chunk.column(0).to_pylist()]


@pytest.mark.parametrize("dop", [1, 3])
def test_drivers_share_queue_and_concatenate_small_messages(dop: int) -> None:
    given = Input(101)
    running = given.instance(dop=dop, batch_rows=50)
    chunks = list(execute(running, dop))
    assert sorted(values(chunks)) == list(range(1010))
    assert max(chunk.num_rows for chunk in chunks) <= 50 and len(chunks) < 60
    counters = running.metrics()["pipelines"][0]["operators"][0]["counters"]
    assert counters["messages_received"] == 101 and counters["bytes_received"] > 1010 * 8


@pytest.mark.parametrize(("limit", "dop"), [(0, 1), (25, 1), (25, 3)])
def test_limit_reads_little_more_input_than_needed(limit: int, dop: int) -> None:
    given = Input(100_000)
    chunks = list(execute(given.instance(LimitFactory(limit), dop=dop), dop))
    assert len(values(chunks)) == limit
    assert given.read <= -(-limit // ROWS) + given.bound + 1 + 2 * dop


@pytest.mark.parametrize("threads", [1, 3])
def test_slow_drivers_throttle_input_reading(threads: int) -> None:
    given = Input(200)
    leads: list[int] = []
    done: list[int] = []

    def work(chunk: pa.RecordBatch) -> pa.RecordBatch:
        leads.append(given.read - len(done))
        time.sleep(0.001)
        done.append(1)
        return chunk

    slow = Made("slow", lambda _: Step(work=work))
    assert len(list(execute(given.instance(slow, dop=threads), threads))) == 200
    assert max(leads) <= given.bound + 1 + 2 * threads


def test_feed_drops_messages_of_finished_source() -> None:
    """One stream for two inputs: the second is read to its end although the first is no longer consumed."""
    queues = {i: InputQueue(f"input {i}") for i in range(2)}
    output = OutputQueue()
    pipelines = []
    for i, limit in ((0, 15), (1, 10_000)):
        source = ExchangeSourceFactory(NODE, queues[i], 10)
        pipelines.append(Pipeline(id=i, factories=(source, LimitFactory(limit), OutputSinkFactory(output))))
    stream = [(i, row) for i in range(2) for _, row in Input(50)]
    running = FragmentInstance(pipelines, output, feed=InputFeed(iter(stream), queues, order=(0, 1)))
    assert len(values(list(execute(running)))) == 15 + 500
    assert not len(queues[0]) and queues[0].taken <= 4


@pytest.mark.parametrize("threads", [1, 3])
def test_stalled_consumer_blocks_input_reading(threads: int) -> None:
    given = Input(100_000)
    items = execute(given.instance(dop=threads, room=4), threads)
    next(items)
    threading.Event().wait(0.1)
    assert given.read <= 1 + 4 + threads + given.bound + 2 * threads
    items.close()


def test_driver_without_input_is_blocked_until_message_arrives() -> None:
    running = Input(3).instance()
    list(execute(running))
    driver = running.drivers[0]
    assert "INPUT_EMPTY" in driver.machine.story()
    assert driver.metrics.blocks["split"] >= 1
    assert running.missed_wakeups == 0


def test_source_skips_messages_without_rows() -> None:
    queue, output = InputQueue("input 0"), OutputQueue()
    empty = encode_chunk(pa.RecordBatch.from_arrays([pa.array([], pa.int64())], schema=SCHEMA))
    rows = [(0, ChunkRow(partition=0, rows=0, data=empty))] * 5
    factories = (ExchangeSourceFactory(NODE, queue, 10), OutputSinkFactory(output))
    running = FragmentInstance(
        [Pipeline(id=0, factories=factories)], output, feed=InputFeed(iter(rows), {0: queue})
    )
    assert list(execute(running)) == []


def test_feed_reads_available_messages_in_one_pump() -> None:
    """Available messages never block: one pump reads them all instead of one each."""
    given = Input(7)
    queue = InputQueue("input 0")
    left = iter([True, True, False, True, False])
    feed = InputFeed(iter(given), {0: queue}, has_more=lambda: next(left))
    feed.pump()
    assert len(queue) == 3
    feed.pump()
    assert len(queue) == 5 and not feed.wants_input()


def test_client_reports_rows_left_in_batch() -> None:
    batches = [pack_rows([row for _, row in Input(count)]) for count in (2, 1)]
    client = ExchangeClient(iter(batches))
    seen = [(client.has_rows(), pair[1].rows) for pair in client.stream()]
    assert seen == [(True, ROWS), (False, ROWS), (False, ROWS)] and not client.has_rows()
