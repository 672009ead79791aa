"""State shared by drivers: barrier, bridge, event, input queues and feed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec import Chunk, Event, FragmentInstance, OutputQueue, execute
from pyspark_pipeline.exec.barrier import Barrier
from pyspark_pipeline.exec.blocking import BlockingReason
from pyspark_pipeline.exec.bridge import Bridge
from pyspark_pipeline.exec.event import Waker
from pyspark_pipeline.exec.input_queue import InputFeed, InputQueue
from tests.exec.kit import Recorded, Sink, Step, chunk, pipeline, values


def test_barrier_has_exactly_one_last_peer_per_round() -> None:
    barrier: Barrier[int] = Barrier(4)
    lasts: list[list[int]] = []
    rounds = 200
    start = threading.Barrier(4)

    def peer(sequence: int) -> None:
        for number in range(rounds):
            start.wait()
            parts = barrier.arrive(sequence, 10 * number + sequence)
            if parts is not None:
                lasts.append(parts)

    threads = [threading.Thread(target=peer, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(lasts) == [[10 * n, 10 * n + 1, 10 * n + 2, 10 * n + 3] for n in range(rounds)]


def test_barrier_rejects_a_second_arrival_in_a_round() -> None:
    barrier: Barrier[str] = Barrier(2)
    assert barrier.arrive(1, "b") is None
    assert barrier.statistics() == {"arrived": 1, "peers": 2}
    with pytest.raises(EngineBugError, match="driver 1 arrived twice"):
        barrier.arrive(1, "b")
    assert barrier.arrive(0, "a") == ["a", "b"]


def test_bridge_is_published_once_and_notifies() -> None:
    bridge: Bridge[int | None] = Bridge("hash table")
    woken: list[int] = []
    bridge.ready.subscribe(lambda: woken.append(1))
    with pytest.raises(EngineBugError, match="before it is published"):
        bridge.get()
    bridge.publish(None)
    assert bridge.is_ready() and bridge.get() is None and woken == [1]
    with pytest.raises(EngineBugError, match="published twice"):
        bridge.publish(2)


def test_closed_barrier_releases_parts_and_has_no_last_peer() -> None:
    barrier: Barrier[str] = Barrier(2)
    assert barrier.arrive(0, "a") is None
    barrier.close()
    barrier.close()
    assert barrier.statistics() == {"arrived": 0, "peers": 2}
    assert barrier.arrive(0, "a") is None and barrier.arrive(1, "b") is None
    assert barrier.statistics()["arrived"] == 0


@pytest.mark.parametrize("published", [False, True])
def test_closed_bridge_notifies_and_has_no_value(published: bool) -> None:
    bridge: Bridge[int] = Bridge("hash table")
    if published:
        bridge.publish(1)
    woken: list[bool] = []
    bridge.ready.subscribe(lambda: woken.append(bridge.is_ready()))
    bridge.close()
    bridge.close()
    assert woken == [True] and bridge.peek() is None
    with pytest.raises(EngineBugError, match="after its bridge was closed"):
        bridge.get()
    bridge.publish(2)
    assert bridge.peek() is None and woken == [True]


def test_event_wakes_each_subscriber_once() -> None:
    event, woken = Event("e"), [0, 0]

    def first() -> None:
        woken[0] += 1

    def second() -> None:
        woken[1] += 1

    for waiter in (first, second, first):
        event.subscribe(waiter)
    event.notify()
    event.unsubscribe(second)
    event.notify()
    assert woken == [2, 1]


class QueueSource(Recorded):
    """A source over an input queue."""

    def __init__(self, queue: InputQueue) -> None:
        super().__init__()
        self.queue = queue

    def has_output(self) -> bool:
        return self.queue.has_items()

    def is_blocked(self, waker: Waker) -> BlockingReason | None:
        waker.wait_for(self.queue.ended)
        waker.wait_for(self.queue.filled)
        return None

    def pull_chunk(self) -> Chunk | None:
        return self.queue.take()

    def is_finished(self) -> bool:
        return self.queue.is_finished()

    def set_finished(self) -> None:
        self.queue.drop()


@pytest.mark.parametrize("threads", [1, 3])
def test_callers_thread_reads_the_input_stream(threads: int) -> None:
    readers: set[int] = set()
    read: list[int] = []

    def stream() -> Iterator[tuple[int, Any]]:
        for i in range(100):
            readers.add(threading.get_ident())
            read.append(i)
            yield 0, chunk(4 * i)

    queue, output = InputQueue("input 0"), OutputQueue(2)
    feed = InputFeed(stream(), {0: queue})
    instance = FragmentInstance([pipeline(QueueSource(queue), Step(), Sink(output))], output, feed=feed)
    items = execute(instance, threads)
    first = next(items)
    assert len(read) <= 10
    assert values([first, *items]) == list(range(400))
    assert readers == {threading.get_ident()}
    assert instance.metrics()["missed_wakeups"] == 0


@pytest.mark.parametrize("threads", [1, 3])
def test_one_stream_for_two_inputs_never_deadlocks(threads: int) -> None:
    """The probe's rows arrive first although the build is needed first: they are queued beyond the bound."""
    stream = iter([(1, chunk(4 * i)) for i in range(20)] + [(0, chunk(i)) for i in range(5)])
    build, probe, output = InputQueue("build"), InputQueue("probe"), OutputQueue()
    built = Bridge[int]("table")

    class Build(Sink):
        def set_finishing(self) -> None:
            super().set_finishing()
            built.publish(1)

    class Probe(Step):
        def is_blocked(self, waker: Waker) -> BlockingReason | None:
            waker.wait_for(built.ready)
            return None

        def need_input(self) -> bool:
            return built.is_ready() and super().need_input()

    probing = pipeline(QueueSource(probe), Probe(), Sink(output))
    building = pipeline(QueueSource(build), Build(OutputQueue(100)), number=1)
    instance = FragmentInstance([probing, building], output, feed=InputFeed(stream, {0: build, 1: probe}))
    assert values(list(execute(instance, threads))) == list(range(80))
    assert instance.metrics()["missed_wakeups"] == 0
    assert "OPERATOR_BLOCK" in instance.drivers[0].machine.story() or threads > 1


def test_ordered_stream_ends_an_input_when_a_later_one_begins() -> None:
    queues = {i: InputQueue(f"input {i}") for i in range(3)}
    feed = InputFeed(iter([(2, "a"), (1, "b"), (2, "late")]), queues, order=(2, 0, 1))
    feed.pump()
    assert not queues[2].is_finished() and queues[2].take() == "a" and queues[2].take() is None
    assert not queues[0].is_finished()
    feed.pump()
    assert queues[2].is_finished() and queues[0].is_finished() and not queues[1].is_finished()
    with pytest.raises(EngineBugError, match="input 2 came after"):
        feed.pump()
    feed.pump()
    assert feed.is_ended() and queues[1].take() == "b" and queues[1].is_finished()


def test_dropped_queue_discards_items_and_wants_no_input() -> None:
    queue = InputQueue("input 0")
    feed = InputFeed(iter([(0, "a"), (0, "b")]), {0: queue})
    assert feed.wants_input()
    feed.pump()
    queue.drop()
    feed.pump()
    assert queue.is_finished() and not feed.wants_input()


def test_stream_errors_propagate_to_the_caller() -> None:
    def stream() -> Iterator[tuple[int, Any]]:
        yield 0, chunk(0)
        raise OSError("socket")

    queue, output = InputQueue("input 0"), OutputQueue()
    source = QueueSource(queue)
    instance = FragmentInstance([pipeline(source, Sink(output))], output, feed=InputFeed(stream(), {0: queue}))
    with pytest.raises(OSError, match="socket"):
        list(execute(instance))
    assert source.stages()[-2:] == ["set_cancelled", "close"]
