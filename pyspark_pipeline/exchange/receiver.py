"""The receiving end of an exchange between instances: one input of one instance, fed by several senders.

A *stream* is what one sender sends to one destination; the input ends when each of its streams has. Where the exchange
is ordered, a request that comes early is put aside until those before it have come. A request is answered when it has
come, but while the input's queue is over its bound the answer is withheld: the sender's window closes, its buffer
fills, its drivers wait. An answer is released for each place that becomes free. Where the sender names drivers, each
has a queue, and the answer waits for theirs; when nothing else can run because one has nothing and the sender is held
back for another, an answer is released all the same. Where nobody wants the input any more, everything is answered and
thrown away, and the senders are told.

Not locked: the transport calls every method but ``stirred`` from its one thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

from pyspark_pipeline.errors import EngineBugError, PipelineError
from pyspark_pipeline.exchange.chunk_row import ChunkRow
from pyspark_pipeline.exchange.query_statistics import NOTHING
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
    more is wanted. ``statistics`` sums what the senders told.
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
        self.statistics = NOTHING
        self._queue = queue
        self._streams_left = streams
        self._ordered = ordered
        self._look_soon = look_soon
        self._leave = leave
        self._left = False
        self._streams: dict[tuple[int, int], _Stream] = {}
        self._withheld: dict[int, deque[tuple[Answer, Sequence[int]]]] = {}  # by the driver they wait for
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
        if not self._ordered:
            self._deliver(request)
        elif not self._put_in_order(request):
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
        if self._takes_all():
            self.look()
        elif full is not None:  # room may have come before the answer was among the withheld
            self._look_at(full)

    def _put_in_order(self, request: Request) -> bool:
        """Deliver what has its turn now; False where the request came before."""
        stream = self._streams.setdefault((request.sender, request.destination), _Stream())
        if request.sequence < stream.next or request.sequence in stream.early:
            return False
        stream.early[request.sequence] = request
        while stream.next in stream.early:
            self._deliver(stream.early.pop(stream.next))
            stream.next += 1
        return True

    def look(self) -> None:
        """Release answers: one for a place that is free, all where nothing waits or nothing is wanted."""
        if self._queue.is_dropped() and not self._left:
            self._left = True
            self._leave()
        for driver in tuple(self._withheld):
            self._look_at(driver)

    def _look_at(self, driver: int) -> None:
        """Release answers that wait for a driver (−1: any)."""
        held = self._withheld[driver]
        is_free = self._full_for((driver,)) is None
        wants_all = is_free and (self._takes_all() or not self._queue.waiting_for(driver))
        for _ in range(len(held) if wants_all else int(is_free)):
            answer, drivers = held.popleft()
            other = self._full_for(drivers)
            if other is None:
                answer(None)
            else:
                self._withheld.setdefault(other, deque()).append((answer, drivers))
        if not held:
            del self._withheld[driver]

    def relieve(self) -> bool:
        """Release an answer over the bound where a driver has nothing; say whether one was withheld."""
        if not self._withheld or not self._queue.is_starving():
            return False
        driver, held = next(iter(self._withheld.items()))
        held.popleft()[0](None)
        if not held:
            del self._withheld[driver]
        return True

    def _full_for(self, drivers: Sequence[int]) -> int | None:
        """Name the driver whose queue is over its bound; None: there is room, or the bound does not count any more."""
        return None if self._takes_all() else self._queue.full_for(drivers)

    def _takes_all(self) -> bool:
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
        """Tell for a dump how many streams have not ended, and how many answers wait."""
        early = sum(len(stream.early) for stream in self._streams.values())
        withheld = sum(map(len, self._withheld.values()))
        return (
            f"{self._queue.name}: {len(self._queue)} chunks, {self._streams_left} streams open, "
            f"{early} requests put aside, {withheld} answers withheld"
        )
