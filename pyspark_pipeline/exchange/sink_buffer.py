"""The sink buffer: the transport between instances that acknowledge what they receive.

One a sink of an instance, shared by the sinks of all drivers. What they send waits in a queue for each destination and
leaves when that destination's window allows (:mod:`~.send_window`). An answer makes room for more.

* Back-pressure: more than ``queue_length`` requests a destination waiting, on average, or more than ``max_bytes`` not
  answered yet, and the sinks take no input until it is half of that: to wake all for each request would cost more.
* The buffer is *finishing* when every sink has ended at every destination, when all were cancelled, or when a request
  failed; it drops what is sent to it from then on. It is *finished* when, besides, nothing is on its way: until then
  the drivers stay in PENDING_FINISH, and can be cancelled.
* A request that is lost, or that the receiver refuses, fails the query through ``fail``.
* Memory: what waits belongs to the instance (``waiting``), what is on its way to the query (``moving``). What a
  broadcast sends to all is one payload, and counts once.
* A window is made when something is first sent to its destination and goes with its last answer.

Locks: each destination has one (several share it), under which a request is queued and the next ones leave, in one
step; ``_totals`` guards the sums and is taken inside it, never the other way round. With the first held only
``transmit`` is called.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import IntEnum
from functools import partial

from pyspark_pipeline.errors import PipelineError, TransportError
from pyspark_pipeline.exchange.codec import Payload, encode_chunk
from pyspark_pipeline.exchange.query_statistics import StatisticsReport
from pyspark_pipeline.exchange.request import Closure, Request, Wire
from pyspark_pipeline.exchange.send_window import BATCH_BYTES, WINDOW, SendWindow
from pyspark_pipeline.exchange.shared_bytes import SharedBytes
from pyspark_pipeline.exchange.transport import Pack
from pyspark_pipeline.exec.event import Event, Line, Waiter
from pyspark_pipeline.memory import MemoryTracker

QUEUE_LENGTH = 64
BUFFER_BYTES = 64 << 20
_LOCKS = 64


class _Way(IntEnum):
    """What becomes of a destination."""

    OPEN = 0
    ENDED = 1
    ABANDONED = 2


class SinkBuffer:
    """Sends the payloads of an instance's sinks to ``destinations`` over ``wire``."""

    def __init__(
        self,
        destinations: int,
        wire: Wire,
        fail: Callable[[PipelineError], None],
        *,
        sender: int = 0,
        ordered: bool = False,
        window: int = WINDOW,
        queue_length: int = QUEUE_LENGTH,
        batch_bytes: int = BATCH_BYTES,
        max_bytes: int = BUFFER_BYTES,
        pack: Pack = encode_chunk,
        waiting: MemoryTracker | None = None,
        moving: MemoryTracker | None = None,
        report: StatisticsReport | None = None,
    ) -> None:
        self.changed = Event("sink buffer has ended")
        self._line = Line()
        self.pack = pack
        self.full_times = 0
        self._wire = wire
        self._fail = fail
        self._most_queued = queue_length * destinations
        self._max_bytes = max_bytes
        self._make_window = partial(SendWindow, sender=sender, ordered=ordered, window=window, batch_bytes=batch_bytes)
        self._windows: dict[int, SendWindow] = {}
        self._ways = bytearray(destinations)
        self._locks = [threading.Lock() for _ in range(min(destinations, _LOCKS))]
        self._totals = threading.Lock()
        self._waiting = SharedBytes(waiting or MemoryTracker("sink buffer"))
        self._moving = SharedBytes(moving or MemoryTracker("requests on their way"))
        self._report = report or StatisticsReport()
        self._sinks = 0
        self._cancelled = 0
        self._ends_left = 0
        self._queued = 0
        self._in_flight = 0
        self._most_in_flight = 0
        self._requests = 0
        self._open = destinations
        self._is_full = False
        self._finishing = False

    # --- what the sinks ask -----------------------------------------------------------------------

    def is_full(self) -> bool:
        """Say whether sinks should take no input now."""
        return self._is_full

    def is_abandoned(self) -> bool:
        """Say whether no destination wants anything more, or the query has failed."""
        return not self._open

    def is_pending(self) -> bool:
        """Say whether the drivers must wait: sinks have not all ended, or requests are on their way."""
        return not self._finishing or self._in_flight > 0

    def wait(self, wake: Waiter) -> bool:
        """Say whether there is room; where not, have ``wake`` called, once, when there is."""
        self._line.join(wake)
        if self._is_full:
            return False
        self._line.leave(wake)
        return True

    # --- what the sinks do ------------------------------------------------------------------------

    def open_sink(self) -> None:
        """Learn of one more sink; all are opened before any sends or is closed."""
        self._sinks += 1
        self._ends_left += len(self._ways)

    def send(self, destination: int, driver: int, rows: int, payload: Payload) -> None:
        """Queue a payload and send what may leave: one step."""
        with self._lock(destination):
            window = self._window(destination)
            if window is None:
                return
            with self._totals:
                before = len(window)
                window.add(driver, rows, payload)
                self._waiting.add((payload,))
                has_room = self._recount(len(window) - before)
            has_room |= self._send_ready(window)
        self._tell(has_room=has_room, has_ended=False)

    def close_sink(self) -> None:
        """Queue the end of one sink's stream for every destination."""
        has_room = False
        for destination in range(len(self._ways)):
            with self._lock(destination):
                window = self._window(destination)
                if window is None:
                    with self._totals:
                        self._count_ends(1)
                    continue
                with self._totals:
                    before = len(window)
                    window.add_eos()
                    has_room |= self._recount(len(window) - before)
                has_room |= self._send_ready(window)
        self._tell(has_room=has_room, has_ended=not self.is_pending())

    def cancel_sink(self) -> None:
        """Learn that the driver of a sink, closed or not, waits for nothing more; after the last, nothing is sent."""
        with self._totals:
            self._cancelled += 1
            all_cancelled = self._cancelled == self._sinks
        if all_cancelled:
            self.stop()

    # --- sending ----------------------------------------------------------------------------------

    def _lock(self, destination: int) -> threading.Lock:
        return self._locks[destination % len(self._locks)]

    def _window(self, destination: int) -> SendWindow | None:
        """Give the window of a destination that is still open; the caller holds its lock."""
        window = self._windows.get(destination)
        if window is None and self._ways[destination] == _Way.OPEN:
            window = self._windows[destination] = self._make_window(destination)
            window.sinks = self._sinks
        return window

    def _send_ready(self, window: SendWindow) -> bool:
        """Send what the window allows; say whether a full buffer has room now. The caller holds the window's lock."""
        has_room = False
        while True:
            with self._totals:
                before, ends = len(window), window.sinks
                request = window.next()
                self._count_ends(ends - window.sinks)
                if request is not None:
                    self._leaves(window, request)
                has_room |= self._recount(len(window) - before)
            if request is None:
                return has_room
            answered = partial(self._answered, window, request)
            self._wire.transmit(request, Closure(answered=answered, lost=partial(self._lost, request)))

    def _leaves(self, window: SendWindow, request: Request) -> None:
        """Count a request that leaves; the caller holds the totals."""
        self._requests += 1
        self._in_flight += 1
        self._most_in_flight = max(self._most_in_flight, window.in_flight)
        self._moving.add(request.payloads)
        self._waiting.remove(request.payloads)
        request.statistics = self._report.next(is_last=not self._ends_left)

    def _answered(self, window: SendWindow, request: Request, wrong: PipelineError | None) -> None:
        """Handle an answer: more may leave, or the receiver's complaint ends the query."""
        has_room = False
        destination = window.destination
        with self._lock(destination):
            window.acknowledge(request.sequence)
            if wrong is None:
                has_room = self._send_ready(window)
            if not window.sinks and not window.in_flight and self._windows.get(destination) is window:
                del self._windows[destination]
                self._ways[destination] = _Way.ENDED
        has_room |= self._landed(request)
        if wrong is not None:
            self._failed(wrong)
        else:
            self._tell(has_room=has_room, has_ended=not self.is_pending())

    def _lost(self, request: Request, how: str) -> None:
        """Handle a request that did not arrive."""
        self._landed(request)
        self._failed(TransportError(f"{request} failed: {how}"))

    def _landed(self, request: Request) -> bool:
        with self._totals:
            self._moving.remove(request.payloads)
            self._in_flight -= 1
            return self._recount(0)

    # --- ends -------------------------------------------------------------------------------------

    def abandon(self, destination: int) -> None:
        """Learn that a destination wants nothing more: what waits for it is dropped. Repeatable."""
        with self._lock(destination):
            if self._ways[destination] == _Way.ABANDONED:
                return
            has_room = self._drop(destination)
        self._tell(has_room=has_room, has_ended=self.is_abandoned() or not self.is_pending())

    def _drop(self, destination: int) -> bool:
        """Drop what waits for a destination, for good; the caller holds its lock."""
        self._ways[destination] = _Way.ABANDONED
        window = self._windows.pop(destination, None)
        with self._totals:
            self._open -= 1
            if window is None:
                return False
            before, ends = len(window), window.sinks
            for request in window.abandon():
                self._waiting.remove(request.payloads)
            self._count_ends(ends - window.sinks)
            return self._recount(-before)

    def _failed(self, error: PipelineError) -> None:
        self.stop()
        self._fail(error)

    def stop(self) -> None:
        """Drop what waits and send nothing more. Repeatable."""
        self._finishing = True
        for destination in range(len(self._ways)):
            with self._lock(destination):
                if self._ways[destination] != _Way.ABANDONED:
                    self._drop(destination)
        self.changed.notify()

    def _count_ends(self, ends: int) -> None:
        """Count ends that have left or never will; the caller holds the totals."""
        if ends:
            self._ends_left -= ends
            if not self._ends_left:
                self._finishing = True

    def _tell(self, *, has_room: bool, has_ended: bool) -> None:
        if has_ended:
            self.changed.notify()
        elif has_room:
            self._line.wake_all()

    # --- sums -------------------------------------------------------------------------------------

    def _recount(self, change: int) -> bool:
        """Count requests queued or gone; say whether a full buffer has room again. The caller holds the totals."""
        self._queued += change
        nbytes = self._waiting.nbytes + self._moving.nbytes
        if not self._is_full:
            self._is_full = self._queued > self._most_queued or nbytes > self._max_bytes
            self.full_times += self._is_full
            return False
        self._is_full = self._queued > self._most_queued // 2 or nbytes > self._max_bytes // 2
        return not self._is_full

    def statistics(self) -> dict[str, int]:
        """Say what waits, what is on its way and at most was at one destination, and how often sinks had to wait."""
        return {
            "queued": self._queued,
            "in_flight": self._in_flight,
            "most_in_flight": self._most_in_flight,
            "requests": self._requests,
            "full_times": self.full_times,
        }
