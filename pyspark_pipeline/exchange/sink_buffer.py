"""The sink buffer: the transport between instances that acknowledge what they receive.

One a sink of an instance, shared by the sinks of all drivers. What they send waits in a queue for each destination and
leaves when that destination's window allows (:mod:`~.send_window`). An answer makes room for more.

* Back-pressure: more than ``queue_length`` requests a destination waiting, on average, and the sinks take no input.
* The buffer is *finishing* when every sink has ended at every destination, when all were cancelled, or when a request
  failed; it drops what is sent to it from then on. It is *finished* when, besides, nothing is on its way: until then
  the drivers stay in PENDING_FINISH, and can be cancelled.
* A request that is lost, or that the receiver refuses, fails the query through ``fail``.
* Memory: what waits belongs to the instance (``waiting``), what is on its way to the query (``moving``).

Locks: each destination has one, under which a request is queued and the next ones leave, in one step; ``_totals``
guards the sums and is taken inside it, never the other way round. With the first held only ``transmit`` is called.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from pyspark_pipeline.errors import PipelineError, TransportError
from pyspark_pipeline.exchange.codec import Payload, encode_chunk, payload_bytes
from pyspark_pipeline.exchange.request import Closure, Request, Wire
from pyspark_pipeline.exchange.send_window import BATCH_BYTES, WINDOW, SendWindow
from pyspark_pipeline.exchange.transport import Pack
from pyspark_pipeline.exec.event import Event
from pyspark_pipeline.memory import MemoryTracker

QUEUE_LENGTH = 64


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
        pack: Pack = encode_chunk,
        waiting: MemoryTracker | None = None,
        moving: MemoryTracker | None = None,
    ) -> None:
        self.changed = Event("sink buffer has room, or has ended")
        self.pack = pack
        self.full_times = 0
        self._wire = wire
        self._fail = fail
        self._most_queued = queue_length * destinations
        self._windows = [
            SendWindow(i, sender, ordered=ordered, window=window, batch_bytes=batch_bytes) for i in range(destinations)
        ]
        self._locks = [threading.Lock() for _ in self._windows]
        self._totals = threading.Lock()
        self._waiting = waiting or MemoryTracker("sink buffer")
        self._moving = moving or MemoryTracker("requests on their way")
        self._sinks = 0
        self._cancelled = 0
        self._ends_left = 0
        self._queued = 0
        self._in_flight = 0
        self._open = destinations
        self._finishing = False

    # --- what the sinks ask -----------------------------------------------------------------------

    def is_full(self) -> bool:
        """Say whether sinks should take no input now."""
        return self._queued > self._most_queued

    def is_abandoned(self) -> bool:
        """Say whether no destination wants anything more, or the query has failed."""
        return not self._open

    def is_pending(self) -> bool:
        """Say whether the drivers must wait: sinks have not all ended, or requests are on their way."""
        return not self._finishing or self._in_flight > 0

    # --- what the sinks do ------------------------------------------------------------------------

    def open_sink(self) -> None:
        """Learn of one more sink; all are opened before any is closed."""
        self._sinks += 1
        self._ends_left += len(self._windows)
        for window in self._windows:
            window.sinks += 1

    def send(self, destination: int, driver: int, rows: int, payload: Payload) -> None:
        """Queue a payload and send what may leave: one step."""
        window = self._windows[destination]
        with self._locks[destination]:
            if window.abandoned:
                return
            with self._totals:
                before = len(window)
                window.add(driver, rows, payload)
                self._waiting.force_consume(payload_bytes(payload))
                self._recount(len(window) - before)
            has_room = self._send_ready(window)
        if has_room:
            self.changed.notify()

    def close_sink(self) -> None:
        """Queue the end of one sink's stream for every destination."""
        for destination, window in enumerate(self._windows):
            with self._locks[destination]:
                if window.abandoned:
                    window.sinks -= 1
                    self._count_ends(1)
                else:
                    with self._totals:
                        before = len(window)
                        window.add_eos()
                        self._recount(len(window) - before)
                    self._send_ready(window)
        self.changed.notify()

    def cancel_sink(self) -> None:
        """Learn that the driver of a sink, closed or not, waits for nothing more; after the last, nothing is sent."""
        with self._totals:
            self._cancelled += 1
            all_cancelled = self._cancelled == self._sinks
        if all_cancelled:
            self._stop()

    # --- sending ----------------------------------------------------------------------------------

    def _send_ready(self, window: SendWindow) -> bool:
        """Send what the window allows; say whether a full buffer has room now. The caller holds the window's lock."""
        has_room = False
        while True:
            with self._totals:
                before, ends = len(window), window.sinks
                request = window.next()
                if request is not None:
                    self._in_flight += 1
                    self._waiting.release(request.nbytes)
                    self._moving.force_consume(request.nbytes)
                has_room |= self._recount(len(window) - before)
            self._count_ends(ends - window.sinks)
            if request is None:
                return has_room
            answered = partial(self._answered, window, request)
            self._wire.transmit(request, Closure(answered=answered, lost=partial(self._lost, request)))

    def _answered(self, window: SendWindow, request: Request, wrong: PipelineError | None) -> None:
        """Handle an answer: more may leave, or the receiver's complaint ends the query."""
        has_room = False
        with self._locks[window.destination]:
            window.acknowledge(request.sequence)
            if wrong is None:
                has_room = self._send_ready(window)
        self._landed(request)
        if wrong is not None:
            self._failed(wrong)
        elif has_room or not self.is_pending():
            self.changed.notify()

    def _lost(self, request: Request, how: str) -> None:
        """Handle a request that did not arrive."""
        self._landed(request)
        self._failed(TransportError(f"{request} failed: {how}"))

    def _landed(self, request: Request) -> None:
        with self._totals:
            self._moving.release(request.nbytes)
            self._in_flight -= 1

    # --- ends -------------------------------------------------------------------------------------

    def abandon(self, destination: int) -> None:
        """Learn that a destination wants nothing more: what waits for it is dropped. Repeatable."""
        window = self._windows[destination]
        with self._locks[destination]:
            if window.abandoned:
                return
            self._drop(window)
        self.changed.notify()

    def _drop(self, window: SendWindow) -> None:
        """Drop what waits for a destination, for good; the caller holds its lock."""
        with self._totals:
            before, ends = len(window), window.sinks
            dropped = window.abandon()
            self._waiting.release(sum(request.nbytes for request in dropped))
            self._open -= 1
            self._recount(-before)
        self._count_ends(ends - window.sinks)

    def _failed(self, error: PipelineError) -> None:
        self._stop()
        self._fail(error)

    def _stop(self) -> None:
        """Send nothing more."""
        self._finishing = True
        for window, lock in zip(self._windows, self._locks, strict=True):
            with lock:
                if not window.abandoned:
                    self._drop(window)
        self.changed.notify()

    def _count_ends(self, ends: int) -> None:
        if ends:
            with self._totals:
                self._ends_left -= ends
                if not self._ends_left:
                    self._finishing = True

    # --- sums -------------------------------------------------------------------------------------

    def _recount(self, change: int) -> bool:
        """Count requests queued or gone; say whether a full buffer has room again. The caller holds the totals."""
        was_full = self.is_full()
        self._queued += change
        self.full_times += self.is_full() and not was_full
        return was_full and not self.is_full()

    def statistics(self) -> dict[str, int]:
        """Say what waits, what is on its way and at most was at one destination, and how often sinks had to wait."""
        return {
            "queued": self._queued,
            "in_flight": self._in_flight,
            "most_in_flight": max((window.most_in_flight for window in self._windows), default=0),
            "requests": sum(window.sent + 1 for window in self._windows),
            "full_times": self.full_times,
        }
