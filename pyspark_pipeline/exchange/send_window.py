"""The state of one destination of a sink buffer: what waits, what is on its way, and whether the next may leave.

Nothing here locks, sends or waits. The rules, for the request at the head of the queue:

* *First packet.* Until one request has been answered, no second leaves: the receiver may have to be set up.
* *Window.* Unordered: fewer than ``window`` requests are on their way. Ordered (the receiver puts requests in
  order, as for a merge): the last number sent is less than ``window`` above the highest number up to which all are
  answered, which bounds what the receiver must put aside.
* *End of stream.* Each sink sends one. All but the last sink's are dropped, or stripped from a request that has chunks;
  the last one leaves when nothing else is on its way. So a destination gets exactly one, and gets it last.

A request that must wait stays at the head, and nothing of it has been counted. Numbers are given when requests leave.
"""

from __future__ import annotations

from collections import deque

from pyspark_pipeline.exchange.codec import Payload, payload_bytes
from pyspark_pipeline.exchange.request import Request

WINDOW = 64
BATCH_BYTES = 262144


class SendWindow:
    """Requests of one sender to one destination. ``sinks`` are those that have not ended here.

    Chunks that wait share a request of at most ``batch_bytes``; a larger chunk has one of its own.
    """

    __slots__ = (
        "destination", "sender", "ordered", "window", "batch_bytes", "sinks", "in_flight", "answered", "sent",
        "continuous", "_queue", "_ahead",
    )  # fmt: skip

    def __init__(
        self,
        destination: int,
        sender: int,
        *,
        ordered: bool = False,
        window: int = WINDOW,
        batch_bytes: int = BATCH_BYTES,
    ) -> None:
        self.destination = destination
        self.sender = sender
        self.ordered = ordered
        self.window = window
        self.batch_bytes = batch_bytes
        self.sinks = 0
        self.in_flight = 0
        self.answered = 0
        self.sent = -1
        self.continuous = -1
        self._queue: deque[Request] = deque()
        self._ahead: set[int] = set()

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, driver: int, rows: int, payload: Payload) -> None:
        """Queue a payload: in the request that waits last, or in a new one where that has an end or is too large."""
        nbytes = payload_bytes(payload)
        last = self._queue[-1] if self._queue else None
        if last is None or last.eos or last.nbytes + nbytes > self.batch_bytes:
            last = Request(destination=self.destination, sender=self.sender)
            self._queue.append(last)
        last.payloads.append(payload)
        last.rows.append(rows)
        last.drivers.append(driver)
        last.nbytes += nbytes

    def add_eos(self) -> None:
        """Queue the end of one sink's stream: with its last chunks where those still wait."""
        if self._queue and not self._queue[-1].eos:
            self._queue[-1].eos = True
        else:
            self._queue.append(Request(destination=self.destination, sender=self.sender, eos=True))

    def must_wait(self) -> bool:
        """Say whether the head of the queue may not leave now."""
        if not self.answered and self.in_flight:
            return True
        outstanding = self.sent - self.continuous if self.ordered else self.in_flight
        if outstanding >= self.window:
            return True
        return self._queue[0].eos and self.sinks == 1 and self.in_flight > 0

    def next(self) -> Request | None:
        """Take the next request that may leave, numbered; None where there is none or it must wait."""
        while self._queue and not self.must_wait():
            request = self._queue.popleft()
            if request.eos:
                self.sinks -= 1
                if self.sinks:
                    if not request.payloads:
                        continue
                    request.eos = False
            self.sent += 1
            request.sequence = self.sent
            self.in_flight += 1
            return request
        return None

    def acknowledge(self, sequence: int) -> None:
        """Learn that a request was answered; answers come in any order."""
        self.in_flight -= 1
        self.answered += 1
        self._ahead.add(sequence)
        while self.continuous + 1 in self._ahead:
            self.continuous += 1
            self._ahead.remove(self.continuous)

    def abandon(self) -> list[Request]:
        """Learn that the destination wants nothing more; give what waited. Sinks that ended in it have ended."""
        dropped = list(self._queue)
        self._queue.clear()
        self.sinks -= sum(request.eos for request in dropped)
        return dropped
