"""The receiving end of an exchange between instances: one input of one instance, fed by several senders.

A *stream* is what one sender sends to one destination; the input ends when each of its streams has. Where the exchange
is ordered, a request that comes early is put aside until those before it have come. A request is answered when it has
come, but while the input's queue is over its bound the answer is withheld: the sender's window closes, its buffer
fills, its drivers wait. An answer is released for each place that becomes free. Where nobody wants the input any more,
everything is answered and thrown away, and the senders are told.

Not locked: the transport calls every method but ``stirred`` from its one thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from pyspark_pipeline.errors import EngineBugError, PipelineError
from pyspark_pipeline.exchange.chunk_row import ChunkRow
from pyspark_pipeline.exchange.request import Request
from pyspark_pipeline.exec.event import Event
from pyspark_pipeline.exec.input_queue import FedQueue

Answer: TypeAlias = Callable[[PipelineError | None], None]


class _Stream:
    """The next number of one sender's stream, and the requests that came before their turn."""

    __slots__ = ("next", "early")

    def __init__(self) -> None:
        self.next = 0
        self.early: dict[int, Request] = {}


class Receiver:
    """Puts the chunks of requests into ``queue``, which ends after ``streams`` ends.

    ``look_soon`` asks the transport to call :meth:`look` from its thread; ``leave`` tells the senders that nothing
    more is wanted.
    """

    def __init__(
        self,
        queue: FedQueue,
        streams: int,
        *,
        ordered: bool,
        look_soon: Callable[[Receiver], None],
        leave: Callable[[], None],
    ) -> None:
        self.withheld_times = 0
        self._queue = queue
        self._streams_left = streams
        self._ordered = ordered
        self._look_soon = look_soon
        self._leave = leave
        self._left = False
        self._streams: dict[tuple[int, int], _Stream] = {}
        self._withheld: deque[Answer] = deque()
        self._wanted = Event(f"{queue.name} has room")
        self._wanted.subscribe(self.stirred)
        queue.serve(self._wanted)
        if not streams:
            queue.end()

    def stirred(self) -> None:
        """Learn, from any thread, that the queue has room or is not wanted any more."""
        if self._withheld or self._queue.is_dropped():
            self._look_soon(self)

    def receive(self, request: Request, answer: Answer) -> None:
        """Take a request and answer it, now or later."""
        stream = self._streams.setdefault((request.sender, request.destination), _Stream())
        if not self._ordered:
            self._deliver(request)
        elif request.sequence < stream.next or request.sequence in stream.early:
            answer(EngineBugError(f"{self._queue.name}: {request} came twice"))
            return
        else:
            stream.early[request.sequence] = request
            while stream.next in stream.early:
                self._deliver(stream.early.pop(stream.next))
                stream.next += 1
        self._withheld.append(answer)
        if self._is_over():
            self.withheld_times += 1
        else:
            self.look()

    def look(self) -> None:
        """Release answers: one for the place that is free, all where nothing waits or nothing is wanted."""
        if self._queue.is_dropped() and not self._left:
            self._left = True
            self._leave()
        if self._is_over():
            return
        count = len(self._withheld) if self._wants_all() else 1
        for _ in range(min(count, len(self._withheld))):
            self._withheld.popleft()(None)

    def _is_over(self) -> bool:
        """Say whether the queue is over its bound."""
        return bool(self._streams_left) and not self._queue.is_dropped() and not self._queue.has_room()

    def _wants_all(self) -> bool:
        return not len(self._queue) or not self._streams_left or self._queue.is_dropped()

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
        """Tell for a dump how many streams have not ended, and how many answers wait."""
        early = sum(len(stream.early) for stream in self._streams.values())
        return (
            f"{self._queue.name}: {len(self._queue)} chunks, {self._streams_left} streams open, "
            f"{early} requests put aside, {len(self._withheld)} answers withheld"
        )
