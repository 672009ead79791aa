"""The receiving end: how far the input is read ahead, when reading stops, what a driver without input does."""

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
    """A stream of messages of ten rows that counts how many were read."""

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
def test_drivers_share_one_queue_and_small_messages_are_joined(dop: int) -> None:
    given = Input(101)
    running = given.instance(dop=dop, batch_rows=50)
    chunks = list(execute(running, dop))
    assert sorted(values(chunks)) == list(range(1010))
    assert max(chunk.num_rows for chunk in chunks) <= 50 and len(chunks) < 60
    counters = running.metrics()["pipelines"][0]["operators"][0]["counters"]
    assert counters["messages_received"] == 101 and counters["bytes_received"] > 1010 * 8


@pytest.mark.parametrize(("limit", "dop"), [(0, 1), (25, 1), (25, 3)])
def test_a_limit_reads_little_more_of_the_input_than_it_needs(limit: int, dop: int) -> None:
    given = Input(100_000)
    chunks = list(execute(given.instance(LimitFactory(limit), dop=dop), dop))
    assert len(values(chunks)) == limit
    assert given.read <= -(-limit // ROWS) + given.bound + 1 + 2 * dop


@pytest.mark.parametrize("threads", [1, 3])
def test_slow_drivers_hold_the_reading_back(threads: int) -> None:
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


def test_what_a_satisfied_source_does_not_want_is_thrown_away() -> None:
    """One stream for two inputs: the second must be read to its end although nobody takes the first any more."""
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
def test_a_stalled_consumer_stops_the_reading(threads: int) -> None:
    given = Input(100_000)
    items = execute(given.instance(dop=threads, room=4), threads)
    next(items)
    threading.Event().wait(0.1)
    assert given.read <= 1 + 4 + threads + given.bound + 2 * threads
    items.close()


def test_a_driver_without_input_is_blocked_until_a_message_comes() -> None:
    running = Input(3).instance()
    list(execute(running))
    driver = running.drivers[0]
    assert "INPUT_EMPTY" in driver.machine.story()
    assert driver.metrics.blocks["split"] >= 1
    assert running.missed_wakeups == 0


def test_messages_without_rows_are_passed_over() -> None:
    queue, output = InputQueue("input 0"), OutputQueue()
    empty = encode_chunk(pa.RecordBatch.from_arrays([pa.array([], pa.int64())], schema=SCHEMA))
    rows = [(0, ChunkRow(partition=0, rows=0, data=empty))] * 5
    factories = (ExchangeSourceFactory(NODE, queue, 10), OutputSinkFactory(output))
    running = FragmentInstance(
        [Pipeline(id=0, factories=factories)], output, feed=InputFeed(iter(rows), {0: queue})
    )
    assert list(execute(running)) == []


def test_messages_that_came_together_are_given_to_their_queues_together() -> None:
    """What is here need not be waited for: one turn of the reading thread, not one a message."""
    given = Input(7)
    queue = InputQueue("input 0")
    left = iter([True, True, False, True, False])
    feed = InputFeed(iter(given), {0: queue}, has_more=lambda: next(left))
    feed.pump()
    assert len(queue) == 3
    feed.pump()
    assert len(queue) == 5 and not feed.wants_input()


def test_a_batch_says_how_many_of_its_rows_are_left() -> None:
    batches = [pack_rows([row for _, row in Input(count)]) for count in (2, 1)]
    client = ExchangeClient(iter(batches))
    seen = [(client.has_rows(), pair[1].rows) for pair in client.stream()]
    assert seen == [(True, ROWS), (False, ROWS), (False, ROWS)] and not client.has_rows()
