"""The sink buffer: windows, first packet, sequences, end of stream, back-pressure, failures, memory."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyspark_pipeline.errors import EngineBugError, PipelineError, TransportError
from pyspark_pipeline.exchange.codec import encode_chunk
from pyspark_pipeline.local.transport.request import Closure, Request
from pyspark_pipeline.local.transport.send_window import WINDOW, SendWindow
from pyspark_pipeline.local.transport.shared_bytes import OBJECT_BYTES
from pyspark_pipeline.local.transport.sink_buffer import SinkBuffer
from pyspark_pipeline.memory import MemoryTracker

BIG = 300_000


class Wire:
    """Records transmitted requests, which the test answers."""

    def __init__(self) -> None:
        self.log: list[Request] = []
        self.under_way: list[tuple[Request, Closure]] = []
        self._lock = threading.Lock()

    def transmit(self, request: Request, closure: Closure) -> None:
        with self._lock:
            self.log.append(request)
            self.under_way.append((request, closure))

    def answer(self, place: int = 0, wrong: PipelineError | None = None) -> Request:
        with self._lock:
            request, closure = self.under_way.pop(place)
        closure.answered(wrong)
        return request

    def answer_all(self) -> None:
        while self.under_way:
            self.answer()


def no_failure(error: PipelineError) -> None:
    raise AssertionError(error)


def payload(nbytes: int = BIG) -> pa.Buffer:
    return pa.py_buffer(bytes(nbytes))


def buffer(
    wire: Wire, destinations: int = 1, *, sinks: int = 1, fail: Callable[[PipelineError], None] = no_failure,
    window: int = WINDOW, ordered: bool = False, queue_length: int = 64,
) -> SinkBuffer:  # fmt: skip
    made = SinkBuffer(
        destinations, wire, fail, sender=7, window=window, ordered=ordered, queue_length=queue_length
    )
    for _ in range(sinks):
        made.open_sink()
    return made


def test_window_opens_after_first_answer() -> None:
    wire = Wire()
    sending = buffer(wire)
    for _ in range(200):
        sending.send(0, -1, 1, payload())
    assert [request.sequence for request in wire.log] == [0]
    wire.answer()
    assert [request.sequence for request in wire.log] == list(range(1 + WINDOW))
    wire.answer(30)
    assert len(wire.log) == 2 + WINDOW
    assert sending.statistics()["most_in_flight"] == WINDOW


def test_ordered_window_waits_for_oldest_answer() -> None:
    wire = Wire()
    sending = buffer(wire, ordered=True, window=4)
    for _ in range(20):
        sending.send(0, -1, 1, payload())
    wire.answer()
    assert [request.sequence for request in wire.log] == [0, 1, 2, 3, 4]
    for place in (3, 2, 1):
        wire.answer(place)
    assert len(wire.log) == 5  # an unordered window would have sent three more
    wire.answer()
    assert [request.sequence for request in wire.log] == list(range(9))


def test_acknowledge_advances_continuous_sequence() -> None:
    window = SendWindow(0, 0)
    continuous = []
    for sequence in (0, 2, 1):
        window.acknowledge(sequence)
        continuous.append(window.continuous)
    assert continuous == [0, 0, 2]


@given(st.permutations(range(WINDOW)))
def test_continuous_sequence_is_monotone_for_any_answer_order(
    order: list[int],
) -> None:
    window = SendWindow(0, 0)
    continuous = [-1]
    for sequence in order:
        window.acknowledge(sequence)
        continuous.append(window.continuous)
        assert set(range(window.continuous + 1)) <= set(order[: len(continuous) - 1])
    assert continuous == sorted(continuous) and continuous[-1] == WINDOW - 1


@settings(deadline=None, max_examples=150)
@given(
    seed=st.integers(0, 1 << 30),
    sinks=st.integers(1, 4),
    destinations=st.integers(1, 3),
    window=st.integers(1, 6),
    ordered=st.booleans(),
    messages=st.integers(0, 40),
)
def test_window_is_respected_and_end_is_last_for_any_answer_order(
    seed: int, sinks: int, destinations: int, window: int, ordered: bool, messages: int
) -> None:
    chance = random.Random(seed)
    wire = Wire()
    sending = buffer(wire, destinations, sinks=sinks, window=window, ordered=ordered)
    left = [[chance.choice([10, BIG]) for _ in range(chance.randint(0, messages))] for _ in range(sinks)]
    total = sum(map(len, left))
    closed = 0
    answered = [0] * destinations
    while closed < sinks or wire.under_way:
        if closed < sinks and chance.random() < 0.5:
            mine = chance.choice([sizes for sizes in left if sizes is not None])
            if mine:
                sending.send(chance.randrange(destinations), -1, 1, payload(mine.pop()))
            else:
                left.remove(mine)
                sending.close_sink()
                closed += 1
        elif wire.under_way:
            answered[wire.answer(chance.randrange(len(wire.under_way))).destination] += 1
        for number in range(destinations):
            ahead = [request for request, _ in wire.under_way if request.destination == number]
            assert len(ahead) <= (1 if not answered[number] else window)
    assert not sending.is_pending()
    assert sum(len(request.payloads) for request in wire.log) == total
    for number in range(destinations):
        requests = [request for request in wire.log if request.destination == number]
        assert [request.sequence for request in requests] == list(range(len(requests)))
        assert [request.eos for request in requests] == [False] * (len(requests) - 1) + [True]


def test_queued_small_payloads_share_request_and_keep_drivers() -> None:
    wire = Wire()
    sending = buffer(wire)
    for driver in range(4):
        sending.send(0, driver, 10 + driver, payload(100))
    sending.close_sink()
    wire.answer_all()
    first, second = wire.log
    assert (first.drivers, first.rows, first.eos) == ([0], [10], False)
    assert (second.drivers, second.rows, second.nbytes, second.eos) == ([1, 2, 3], [11, 12, 13], 300, True)


def test_only_last_sink_sends_end_of_stream() -> None:
    wire = Wire()
    sending = buffer(wire, sinks=3)
    sending.close_sink()
    assert wire.log == []
    sending.send(0, -1, 1, payload())
    sending.send(0, -1, 1, payload())
    sending.close_sink()
    wire.answer()
    assert [(len(request.payloads), request.eos) for request in wire.log] == [(1, False), (1, False)]
    sending.close_sink()
    assert len(wire.log) == 2  # the last end waits until nothing is in flight
    wire.answer()
    assert sending.is_pending() and (wire.log[2].payloads, wire.log[2].eos) == ([], True)
    wire.answer()
    assert not sending.is_pending()


def test_full_buffer_notifies_waiter_at_half_fill() -> None:
    wire = Wire()
    sending = buffer(wire, destinations=2, queue_length=3, window=1)
    notified: list[bool] = []
    
    def on_room() -> None:
        notified.append(sending.is_full())

    for _ in range(8):
        assert not sending.is_full()
        sending.send(0, -1, 1, payload())
    assert sending.is_full() and sending.statistics()["queued"] == 7
    sending.room.subscribe(on_room)
    for _ in range(3):
        wire.answer()
        assert notified == []
    wire.answer()
    assert notified == [False] and sending.statistics()["queued"] == 3 and sending.statistics()["full_times"] == 1


def test_lost_request_fails_query_once_and_stops_buffer() -> None:
    wire, errors = Wire(), []
    sending = buffer(wire, destinations=2, fail=errors.append)
    for number in (0, 1, 0):
        sending.send(number, -1, 1, payload())
    wire.under_way.pop(0)[1].lost("no answer within 10 steps")
    assert [str(error) for error in errors] == [
        "request 0 of sender 7 to partition 0 failed: no answer within 10 steps"
    ]
    assert isinstance(errors[0], TransportError)
    assert sending.is_abandoned() and sending.is_pending()
    sending.send(1, -1, 1, payload())
    sending.close_sink()
    wire.answer()
    assert not sending.is_pending() and len(wire.log) == 2


def test_receiver_error_fails_query() -> None:
    wire, errors = Wire(), []
    sending = buffer(wire, fail=errors.append)
    sending.send(0, -1, 1, payload())
    sending.send(0, -1, 1, payload())
    wire.answer(wrong=EngineBugError("came twice"))
    assert [str(error) for error in errors] == ["came twice"] and len(wire.log) == 1


def test_abandoned_destination_gets_no_more_requests_and_others_end() -> None:
    wire = Wire()
    sending = buffer(wire, destinations=2, sinks=2)
    for _ in range(5):
        sending.send(0, -1, 1, payload())
    sending.close_sink()
    sending.abandon(0)
    assert not sending.is_abandoned() and sending.statistics()["queued"] == 0
    sending.send(0, -1, 1, payload())
    sending.send(1, -1, 1, payload())
    sending.close_sink()
    wire.answer_all()
    assert [(request.destination, request.eos) for request in wire.log] == [(0, False), (1, False), (1, True)]
    assert not sending.is_pending()
    sending.abandon(1)
    sending.abandon(1)
    assert sending.is_abandoned()


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_buffer_is_empty_after_all_sinks_are_cancelled(closed: int) -> None:
    """Also sinks whose drivers only waited for the answers."""
    wire, waiting = Wire(), MemoryTracker("sink buffer")
    sending = SinkBuffer(1, wire, no_failure, queued_memory=waiting)
    for _ in range(2):
        sending.open_sink()
    for _ in range(2):
        sending.send(0, -1, 1, payload())
    for _ in range(closed):
        sending.close_sink()
    for _ in range(2):
        assert not sending.is_abandoned() and waiting.held == BIG + OBJECT_BYTES
        sending.cancel_sink()
    assert sending.is_abandoned() and sending.is_pending() and waiting.held == 0
    wire.answer()
    assert not sending.is_pending() and len(wire.log) == 1


def test_bytes_move_from_instance_to_query_when_sent_and_are_freed_when_answered() -> None:
    query = MemoryTracker("query")
    queued, in_flight = query.child("instance").child("sink buffer"), query.child("on their way")
    wire = Wire()
    sending = SinkBuffer(1, wire, no_failure, queued_memory=queued, in_flight_memory=in_flight, window=1)
    sending.open_sink()
    held = []
    for _ in range(3):
        sending.send(0, -1, 1, payload())
        held.append((queued.held // BIG, in_flight.held // BIG))
    sending.close_sink()
    while wire.under_way:
        wire.answer()
        held.append((queued.held // BIG, in_flight.held // BIG))
    assert held == [(0, 1), (1, 1), (2, 1), (1, 1), (0, 1), (0, 0)]
    assert query.held == 0


@pytest.mark.parametrize("ordered", [False, True])
def test_concurrent_sinks_and_answers_lose_no_payload(ordered: bool) -> None:
    wire = Wire()
    sending = buffer(wire, destinations=3, sinks=4, ordered=ordered, window=5)
    data = encode_chunk(pa.record_batch([pa.array([1])], names=["c0"]))

    def sink(number: int) -> None:
        for i in range(300):
            sending.send(i % 3, number, 1, data)
        sending.close_sink()

    threads = [threading.Thread(target=sink, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    chance = random.Random(1)
    while sending.is_pending():
        if wire.under_way:
            wire.answer(chance.randrange(len(wire.under_way)))
    for thread in threads:
        thread.join()
    assert sum(len(request.payloads) for request in wire.log) == 1200
    for number in range(3):
        requests = [request for request in wire.log if request.destination == number]
        assert [request.sequence for request in requests] == list(range(len(requests)))
        assert [request.eos for request in requests].count(True) == 1 and requests[-1].eos
        assert sorted(driver for request in requests for driver in request.drivers) == sorted([0, 1, 2, 3] * 100)
