"""The receiving end of an exchange between instances: one input of one instance, fed by several senders.

A *stream* is the sequence of requests from one sender to one destination; the input ends when all its streams have
ended. If the exchange is ordered, an early request is kept until those before it have arrived. A request is answered
when it arrives, but while the input's queue is over its bound the answer is withheld: the sender's window closes, its
buffer fills, its drivers block. One answer is released for each slot that becomes free in the queue. If the sender
names drivers, each driver has a queue, and the answer waits for the named queues; if nothing else can run because one
driver has no input and the sender is held back by another driver's queue, an answer is released anyway. Once the input
is abandoned, every request is answered and dropped, and the senders are notified.

Not locked: the transport calls every method except ``on_queue_changed`` from its one thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

from pyspark_pipeline.errors import EngineBugError, PipelineError
from pyspark_pipeline.exchange.chunk_row import ChunkRow
from pyspark_pipeline.exchange.query_statistics import NO_STATISTICS
from pyspark_pipeline.exec.event import Event
from pyspark_pipeline.exec.input_queue import FeedQueue
from pyspark_pipeline.local.transport.request import Request

Answer: TypeAlias = Callable[[PipelineError | None], None]


class _Stream:
    """The next sequence of one sender's stream, and its early requests by sequence."""

    __slots__ = ("next", "early")

    def __init__(self) -> None:
        self.next = 0
        self.early: dict[int, Request] = {}


class Receiver:
    """Puts the chunks of requests into ``queue``, which ends after ``streams`` ends of stream.

    ``schedule_release`` has the transport call :meth:`release_answers` from its thread; ``on_abandoned`` notifies the
    senders that nothing more is wanted. ``statistics`` is the sum of the senders' reports.
    """

    def __init__(
        self,
        queue: FeedQueue,
        streams: int,
        *,
        ordered: bool,
        schedule_release: Callable[[Receiver], None],
        on_abandoned: Callable[[], None],
    ) -> None:
        self.withheld_times = 0
        self.statistics = NO_STATISTICS
        self._queue = queue
        self._streams_left = streams
        self._ordered = ordered
        self._schedule_release = schedule_release
        self._on_abandoned = on_abandoned
        self._is_abandoned = False
        self._streams: dict[tuple[int, int], _Stream] = {}
        self._withheld: dict[int, deque[tuple[Answer, Sequence[int]]]] = {}  # by the driver whose queue is full
        self._wanted = Event(f"{queue.name} has room")
        self._wanted.subscribe(self.on_queue_changed)
        queue.serve(self._wanted)
        if not streams:
            queue.end()

    def on_queue_changed(self) -> None:
        """Handle the event, from any thread, that the queue has room or was dropped."""
        if self._withheld or self._queue.is_dropped():
            self._schedule_release(self)

    def receive(self, request: Request, answer: Answer) -> None:
        """Deliver a request and answer it, now or later."""
        if not self._ordered:
            self._deliver(request)
        elif not self._deliver_in_order(request):
            answer(EngineBugError(f"{self._queue.name}: {request} came twice"))
            return
        if request.statistics is not None:
            self.statistics += request.statistics
        full = self._full_for(request.drivers)
        if full is None:
            answer(None)
        else:
            self.withheld_times += 1
            self._withheld.setdefault(full, deque()).append((answer, request.drivers))
        if self._is_unbounded():
            self.release_answers()
        elif full is not None:  # the queue may have got room before the answer was withheld
            self._release_answers_for(full)

    def _deliver_in_order(self, request: Request) -> bool:
        """Deliver the requests that are next in order; return False if the request is a duplicate."""
        stream = self._streams.setdefault((request.sender, request.destination), _Stream())
        if request.sequence < stream.next or request.sequence in stream.early:
            return False
        stream.early[request.sequence] = request
        while stream.next in stream.early:
            self._deliver(stream.early.pop(stream.next))
            stream.next += 1
        return True

    def release_answers(self) -> None:
        """Release answers: one per free slot, or all if the queue is empty or abandoned."""
        if self._queue.is_dropped() and not self._is_abandoned:
            self._is_abandoned = True
            self._on_abandoned()
        for driver in tuple(self._withheld):
            self._release_answers_for(driver)

    def _release_answers_for(self, driver: int) -> None:
        """Release answers withheld because of a driver (−1: any)."""
        held = self._withheld[driver]
        is_free = self._full_for((driver,)) is None
        wants_all = is_free and (self._is_unbounded() or not self._queue.waiting_for(driver))
        for _ in range(len(held) if wants_all else int(is_free)):
            answer, drivers = held.popleft()
            other = self._full_for(drivers)
            if other is None:
                answer(None)
            else:
                self._withheld.setdefault(other, deque()).append((answer, drivers))
        if not held:
            del self._withheld[driver]

    def force_admit(self) -> bool:
        """Release one answer over the bound if a driver is starved; return whether one was withheld."""
        if not self._withheld or not self._queue.is_starving():
            return False
        driver, held = next(iter(self._withheld.items()))
        held.popleft()[0](None)
        if not held:
            del self._withheld[driver]
        return True

    def _full_for(self, drivers: Sequence[int]) -> int | None:
        """Return the driver whose queue is over its bound; None if there is room or the bound no longer applies."""
        return None if self._is_unbounded() else self._queue.full_for(drivers)

    def _is_unbounded(self) -> bool:
        return not self._streams_left or self._queue.is_dropped()

    def _deliver(self, request: Request) -> None:
        for payload, rows, driver in zip(request.payloads, request.rows, request.drivers, strict=True):
            self._queue.put(
                ChunkRow(
                    partition=request.destination,
                    driver=driver,
                    sender=request.sender,
                    sequence=request.sequence,
                    rows=rows,
                    data=payload,
                )
            )
        if request.eos:
            self._streams_left -= 1
            if not self._streams_left:
                self._queue.end()

    def describe(self) -> str:
        """Return the numbers of open streams and of withheld answers, for a dump."""
        early = sum(len(stream.early) for stream in self._streams.values())
        withheld = sum(map(len, self._withheld.values()))
        return (
            f"{self._queue.name}: {len(self._queue)} chunks, {self._streams_left} streams open, "
            f"{early} requests buffered, {withheld} answers withheld"
        )
