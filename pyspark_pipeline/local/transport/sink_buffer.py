"""The sink buffer: the transport between instances that acknowledge what they receive.

There is one per fragment instance, shared by the sinks of all drivers. Their payloads are queued per destination and
sent when the destination's window allows (:mod:`~.send_window`). An answer opens the window for more.

* Back-pressure: with more than ``queue_length`` queued requests per destination, on average, or more than ``max_bytes``
  unanswered, the sinks take no input until half of that is left: waking all sinks for each request would cost more.
* The buffer is *finishing* when every sink has ended at every destination, when all were cancelled, or when a request
  failed; it drops payloads sent from then on. It is *finished* when, besides, nothing is in flight: until then the
  drivers stay in PENDING_FINISH, and can be cancelled.
* A request that is lost, or that the receiver rejects, fails the query through ``fail``.
* Memory: queued bytes count against the instance (``queued_memory``), bytes in flight against the query
  (``in_flight_memory``). A broadcast sends one payload to all destinations, which counts once.
* A window is created with the first payload for its destination and removed with its last answer.

Locks: each destination has one (shared by several), under which a request is queued and the next ones are sent, in one
step; ``_totals`` guards the sums and is acquired inside it, never the other way round. Only ``transmit`` is called with
the first held.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import IntEnum
from functools import partial

from pyspark_pipeline.errors import EngineBugError, PipelineError, TransportError
from pyspark_pipeline.exchange.codec import Payload, encode_chunk
from pyspark_pipeline.exchange.messages import GroupedMessages
from pyspark_pipeline.exchange.query_statistics import QueryStatisticsReporter
from pyspark_pipeline.exchange.transport import Pack
from pyspark_pipeline.exec.event import Event, WaiterQueue
from pyspark_pipeline.local.transport.request import Closure, Request, Wire
from pyspark_pipeline.local.transport.send_window import BATCH_BYTES, WINDOW, SendWindow
from pyspark_pipeline.local.transport.shared_bytes import SharedBytes
from pyspark_pipeline.memory import MemoryTracker

QUEUE_LENGTH = 64
BUFFER_BYTES = 64 << 20
_LOCKS = 64


class _DestinationState(IntEnum):
    """The state of a destination."""

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
        queued_memory: MemoryTracker | None = None,
        in_flight_memory: MemoryTracker | None = None,
        reporter: QueryStatisticsReporter | None = None,
    ) -> None:
        self.changed = Event("sink buffer has ended")
        self.room = WaiterQueue("sink buffer has room")
        self.pack = pack
        self.narrows = False
        self.full_times = 0
        self._wire = wire
        self._fail = fail
        self._max_queued = queue_length * destinations
        self._max_bytes = max_bytes
        self._make_window = partial(SendWindow, sender=sender, ordered=ordered, window=window, batch_bytes=batch_bytes)
        self._windows: dict[int, SendWindow] = {}
        self._states = bytearray(destinations)
        self._locks = [threading.Lock() for _ in range(min(destinations, _LOCKS))]
        self._totals = threading.Lock()
        self._queued_bytes = SharedBytes(queued_memory or MemoryTracker("sink buffer"))
        self._in_flight_bytes = SharedBytes(in_flight_memory or MemoryTracker("requests on their way"))
        self._reporter = reporter or QueryStatisticsReporter()
        self._sinks = 0
        self._cancelled = 0
        self._ends_left = 0
        self._queued = 0
        self._in_flight = 0
        self._max_in_flight = 0
        self._requests = 0
        self._open = destinations
        self._is_full = False
        self._finishing = False

    # --- state, for the sinks ---------------------------------------------------------------------

    def is_full(self) -> bool:
        """Return whether sinks should take no input now."""
        return self._is_full

    def is_abandoned(self) -> bool:
        """Return whether no destination wants anything more, or the query has failed."""
        return not self._open

    def is_pending(self) -> bool:
        """Return whether the drivers must wait: not all sinks have ended, or requests are in flight."""
        return not self._finishing or self._in_flight > 0

    # --- actions of the sinks ---------------------------------------------------------------------

    def open_sink(self) -> None:
        """Register a sink; all are registered before any sends or is closed."""
        self._sinks += 1
        self._ends_left += len(self._states)

    def takes_groups(self) -> bool:
        """Return False: each payload waits for the window of its destination."""
        return False

    def send_grouped(self, messages: GroupedMessages) -> None:
        """Raise :class:`EngineBugError`."""
        raise EngineBugError("grouped messages are sent to a sink buffer")

    def send(self, destination: int, driver: int, rows: int, payload: Payload) -> None:
        """Queue a payload and send the requests that the window allows, in one step."""
        with self._lock(destination):
            window = self._window(destination)
            if window is None:
                return
            with self._totals:
                before = len(window)
                window.add(driver, rows, payload)
                self._queued_bytes.add((payload,))
                has_room = self._recount(len(window) - before)
            has_room |= self._send_ready(window)
        self._notify(has_room=has_room, has_ended=False)

    def close_sink(self) -> None:
        """Queue the end of one sink's stream for every destination."""
        has_room = False
        for destination in range(len(self._states)):
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
        self._notify(has_room=has_room, has_ended=not self.is_pending())

    def cancel_sink(self) -> None:
        """Handle the cancellation of a sink's driver, also after the sink closed; the last one stops the buffer."""
        with self._totals:
            self._cancelled += 1
            all_cancelled = self._cancelled == self._sinks
        if all_cancelled:
            self.stop()

    # --- sending ----------------------------------------------------------------------------------

    def _lock(self, destination: int) -> threading.Lock:
        return self._locks[destination % len(self._locks)]

    def _window(self, destination: int) -> SendWindow | None:
        """Return the window of a destination, None unless that is open; the caller holds its lock."""
        window = self._windows.get(destination)
        if window is None and self._states[destination] == _DestinationState.OPEN:
            window = self._windows[destination] = self._make_window(destination)
            window.sinks = self._sinks
        return window

    def _send_ready(self, window: SendWindow) -> bool:
        """Send what the window allows; return whether a full buffer has room again. The caller holds its lock."""
        has_room = False
        while True:
            with self._totals:
                before, ends = len(window), window.sinks
                request = window.next()
                self._count_ends(ends - window.sinks)
                if request is not None:
                    self._count_sent(window, request)
                has_room |= self._recount(len(window) - before)
            if request is None:
                return has_room
            answered = partial(self._answered, window, request)
            self._wire.transmit(request, Closure(answered=answered, lost=partial(self._lost, request)))

    def _count_sent(self, window: SendWindow, request: Request) -> None:
        """Count a request as sent; the caller holds the totals."""
        self._requests += 1
        self._in_flight += 1
        self._max_in_flight = max(self._max_in_flight, window.in_flight)
        self._in_flight_bytes.add(request.payloads)
        self._queued_bytes.remove(request.payloads)
        request.statistics = self._reporter.delta(is_last=not self._ends_left)

    def _answered(self, window: SendWindow, request: Request, wrong: PipelineError | None) -> None:
        """Handle an answer: send more, or fail the query with the receiver's error."""
        has_room = False
        destination = window.destination
        with self._lock(destination):
            window.acknowledge(request.sequence)
            if wrong is None:
                has_room = self._send_ready(window)
            if not window.sinks and not window.in_flight and self._windows.get(destination) is window:
                del self._windows[destination]
                self._states[destination] = _DestinationState.ENDED
        has_room |= self._count_done(request)
        if wrong is not None:
            self._failed(wrong)
        else:
            self._notify(has_room=has_room, has_ended=not self.is_pending())

    def _lost(self, request: Request, how: str) -> None:
        """Fail the query because of a lost request."""
        self._count_done(request)
        self._failed(TransportError(f"{request} failed: {how}"))

    def _count_done(self, request: Request) -> bool:
        with self._totals:
            self._in_flight_bytes.remove(request.payloads)
            self._in_flight -= 1
            return self._recount(0)

    # --- ends -------------------------------------------------------------------------------------

    def abandon(self, destination: int) -> None:
        """Drop the queued requests of a destination that wants no more. Idempotent."""
        with self._lock(destination):
            if self._states[destination] == _DestinationState.ABANDONED:
                return
            has_room = self._drop(destination)
        self._notify(has_room=has_room, has_ended=self.is_abandoned() or not self.is_pending())

    def _drop(self, destination: int) -> bool:
        """Drop the queued requests of a destination and accept no more; the caller holds its lock."""
        self._states[destination] = _DestinationState.ABANDONED
        window = self._windows.pop(destination, None)
        with self._totals:
            self._open -= 1
            if window is None:
                return False
            before, ends = len(window), window.sinks
            for request in window.abandon():
                self._queued_bytes.remove(request.payloads)
            self._count_ends(ends - window.sinks)
            return self._recount(-before)

    def _failed(self, error: PipelineError) -> None:
        self.stop()
        self._fail(error)

    def stop(self) -> None:
        """Drop all queued requests and send nothing more. Idempotent."""
        self._finishing = True
        for destination in range(len(self._states)):
            with self._lock(destination):
                if self._states[destination] != _DestinationState.ABANDONED:
                    self._drop(destination)
        self.changed.notify()

    def _count_ends(self, ends: int) -> None:
        """Count ends of stream that were sent or dropped; the caller holds the totals."""
        if ends:
            self._ends_left -= ends
            if not self._ends_left:
                self._finishing = True

    def _notify(self, *, has_room: bool, has_ended: bool) -> None:
        if has_ended:
            self.changed.notify()
        elif has_room:
            self.room.notify()

    # --- sums -------------------------------------------------------------------------------------

    def _recount(self, change: int) -> bool:
        """Add ``change`` queued requests; return whether a full buffer has room again. The caller holds the totals."""
        self._queued += change
        nbytes = self._queued_bytes.nbytes + self._in_flight_bytes.nbytes
        if not self._is_full:
            self._is_full = self._queued > self._max_queued or nbytes > self._max_bytes
            self.full_times += self._is_full
            return False
        self._is_full = self._queued > self._max_queued // 2 or nbytes > self._max_bytes // 2
        return not self._is_full

    def statistics(self) -> dict[str, int]:
        """Return the requests queued, in flight, at most in flight per destination, sent, and how often it was full."""
        return {
            "queued": self._queued,
            "in_flight": self._in_flight,
            "most_in_flight": self._max_in_flight,
            "requests": self._requests,
            "full_times": self.full_times,
        }
