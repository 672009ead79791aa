"""Requests between instances of one process: order, withheld answers, loss, abandoned inputs; on a clock of steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyspark_pipeline.errors import EngineBugError, PipelineError, TransportError
from pyspark_pipeline.exchange.driver_queues import DriverQueues
from pyspark_pipeline.exec.input_queue import InputQueue
from pyspark_pipeline.local.transport.local_transport import Conditions, LocalTransport
from pyspark_pipeline.local.transport.request import Address, Closure, Request
from pyspark_pipeline.local.transport.sink_buffer import SinkBuffer
from tests.local.test_sink_buffer import payload

HERE = Address(1, 0, 0)


class Sender:
    """A sink buffer of one sink with one destination."""

    def __init__(self, transport: LocalTransport, number: int = 0, address: Address = HERE, **settings: Any) -> None:
        wire = transport.wire([address])
        self.buffer = SinkBuffer(1, wire, transport.fail, sender=number, **settings)
        self.buffer.open_sink()
        transport.on_abandon(address.fragment, address.input, lambda _: self.buffer.abandon(0))

    def send(self, count: int, driver: int = -1) -> None:
        for rows in range(count):
            self.buffer.send(0, driver, rows, payload())


def pump(transport: LocalTransport) -> None:
    while not transport.is_ended():
        transport.pump()


def taken(queue: InputQueue) -> list[tuple[int, int]]:
    """Drain the queue; return sender and sequence of each chunk."""
    rows = []
    while (row := queue.take()) is not None:
        rows.append((row.sender, row.sequence))
    return rows


def test_requests_without_latency_arrive_in_one_step() -> None:
    transport, queue = LocalTransport(), InputQueue("input 0", bound=100)
    transport.register(HERE, queue, streams=2)
    senders = [Sender(transport, number) for number in range(2)]
    for sender in senders:
        sender.send(10)
        sender.buffer.close_sink()
    assert not len(queue)
    transport.pump()
    assert transport.now == 0 and transport.is_ended()
    assert not queue.is_finished() and queue.has_items()
    assert sorted(taken(queue)) == [(sender, sequence) for sender in range(2) for sequence in range(10)]
    assert queue.is_finished()
    assert not any(sender.buffer.is_pending() for sender in senders)


def test_input_without_streams_is_finished() -> None:
    queue = InputQueue("input 0")
    LocalTransport().register(HERE, queue, streams=0)
    assert queue.is_finished()


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 1 << 30), jitter=st.integers(1, 40), latency=st.integers(0, 5), window=st.integers(1, 20))
def test_ordered_exchange_keeps_order_of_each_sender_under_jitter(
    seed: int, jitter: int, latency: int, window: int
) -> None:
    transport = LocalTransport(Conditions(latency=latency, jitter=jitter, seed=seed))
    queue = InputQueue("input 0", bound=1000)
    transport.register(HERE, queue, streams=3, ordered=True)
    senders = [Sender(transport, number, ordered=True, window=window) for number in range(3)]
    for sender in senders:
        sender.send(30)
        sender.buffer.close_sink()
    pump(transport)
    rows = taken(queue)
    for number in range(3):
        assert [sequence for sender, sequence in rows if sender == number] == list(range(30))
    assert queue.is_finished()


def test_jitter_reorders_requests_deterministically_by_seed() -> None:
    def arrivals(seed: int) -> list[tuple[int, int]]:
        transport = LocalTransport(Conditions(latency=2, jitter=30, seed=seed))
        queue = InputQueue("input 0", bound=1000)
        transport.register(HERE, queue, streams=1)
        sender = Sender(transport)
        sender.send(50)
        sender.buffer.close_sink()
        pump(transport)
        return taken(queue)

    first = arrivals(1)
    assert sorted(first) == [(0, sequence) for sequence in range(50)]
    assert first != sorted(first) and first[0] == (0, 0)
    assert arrivals(1) == first != arrivals(2)


def test_receiver_withholds_answers_while_queue_is_over_bound() -> None:
    transport, queue = LocalTransport(), InputQueue("input 0", bound=4)
    receiver = transport.register(HERE, queue, streams=1)
    sender = Sender(transport, window=8, queue_length=5)
    sender.send(100)
    transport.pump()
    stalled = sender.buffer.statistics()
    assert (len(queue), stalled["in_flight"], sender.buffer.is_full()) == (3 + 8, 8, True)
    assert transport.is_ended() and "8 answers withheld" in receiver.describe()
    seen = 0
    while not queue.is_finished():
        assert len(queue) <= 3 + 8
        seen += queue.take() is not None
        if seen == 50:
            sender.buffer.close_sink()
        pump(transport)
    assert seen == 100 and not sender.buffer.is_pending()
    assert receiver.withheld_times > 10


class EmptiedMeanwhile(InputQueue):
    """A queue that a driver drains just after the caller found it full."""

    def full_for(self, drivers: Sequence[int]) -> int | None:
        full = super().full_for(drivers)
        if full is not None:
            taken(self)
        return full


def test_answer_is_released_if_queue_got_room_before_it_was_withheld() -> None:
    transport, queue = LocalTransport(), EmptiedMeanwhile("input 0", bound=1)
    receiver = transport.register(HERE, queue, streams=1)
    sender = Sender(transport, window=1)
    sender.send(10)
    sender.buffer.close_sink()
    pump(transport)
    assert receiver.withheld_times == 9 and "0 answers withheld" in receiver.describe()
    assert taken(queue) and queue.is_finished() and not sender.buffer.is_pending()


def test_all_senders_are_answered_while_waiting_for_one_slot() -> None:
    transport, queue = LocalTransport(), InputQueue("input 0", bound=1)
    transport.register(HERE, queue, streams=10)
    senders = [Sender(transport, number) for number in range(10)]
    for sender in senders:
        sender.send(3)
        sender.buffer.close_sink()
    pump(transport)
    count = 0
    while not queue.is_finished():
        assert queue.has_items()
        count += queue.take() is not None
        pump(transport)
    assert count == 30 and not any(sender.buffer.is_pending() for sender in senders)


def test_dropped_input_ends_its_senders() -> None:
    transport, queue = LocalTransport(Conditions(latency=3)), InputQueue("input 0", bound=1)
    transport.register(HERE, queue, streams=2)
    senders = [Sender(transport, number) for number in range(2)]
    for sender in senders:
        sender.send(100)
    pump(transport)
    assert not any(sender.buffer.is_abandoned() for sender in senders)
    queue.drop()
    pump(transport)
    for sender in senders:
        assert sender.buffer.is_abandoned() and sender.buffer.statistics()["queued"] == 0
        sender.buffer.close_sink()
        assert not sender.buffer.is_pending()


def test_drivers_named_by_sender_get_their_chunks() -> None:
    transport, queues = LocalTransport(), DriverQueues("input 0", 3)
    transport.register(HERE, queues, streams=1)
    sender = Sender(transport)
    for driver in (2, 0, 2):
        sender.send(1, driver)
    sender.buffer.close_sink()
    pump(transport)
    assert [len(queues.queue_of(driver)) for driver in range(3)] == [1, 0, 2]


@pytest.mark.parametrize(
    "conditions",
    [Conditions(loses=lambda address, request: request.sequence == 3, timeout=50), Conditions(loss=0.4, timeout=50)],
)
def test_lost_request_fails_with_transport_error_after_timeout(conditions: Conditions) -> None:
    transport, queue = LocalTransport(conditions), InputQueue("input 0", bound=100)
    transport.register(HERE, queue, streams=1)
    sender = Sender(transport)
    sender.send(20)
    with pytest.raises(
        TransportError,
        match=r"request \d+ of sender 0 to partition 0 failed: "
        "no answer from input 0 of instance 0 of fragment 1 within 50 steps",
    ):
        pump(transport)
    assert transport.now == 50 and sender.buffer.is_abandoned()


def test_requests_for_unregistered_input_wait_for_registration() -> None:
    transport, queue = LocalTransport(), InputQueue("input 0", bound=100)
    sender = Sender(transport)
    sender.send(5)
    sender.buffer.close_sink()
    pump(transport)
    assert sender.buffer.statistics()["requests"] == 1
    assert "input 0 of instance 0 of fragment 1: nobody there, 1 requests wait" in transport.describe()
    transport.register(HERE, queue, streams=1)
    pump(transport)
    assert taken(queue) == [(0, sequence) for sequence in range(5)] and queue.is_finished()
    with pytest.raises(EngineBugError, match="registered twice"):
        transport.register(HERE, queue, streams=1)


def test_receiver_rejects_duplicate_request() -> None:
    transport, queue = LocalTransport(), InputQueue("input 0", bound=100)
    transport.register(HERE, queue, streams=1, ordered=True)
    wrong: list[PipelineError | None] = []
    for sequence in (0, 2, 2, 0):
        request = Request(destination=0, sender=4, sequence=sequence)
        transport.transmit(HERE, request, Closure(answered=wrong.append, lost=print))
    pump(transport)
    assert wrong[:2] == [None, None]
    assert [str(error) for error in wrong[2:]] == [
        f"input 0: request {sequence} of sender 4 to partition 0 came twice" for sequence in (2, 0)
    ]
