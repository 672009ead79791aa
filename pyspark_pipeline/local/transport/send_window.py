"""The send window of one destination of a sink buffer: queued requests, requests in flight, and when to send the next.

Nothing here locks, sends or waits. The rules, for the request at the head of the queue:

* *First packet.* Until one request has been answered, no second is sent: the receiver may have to be set up.
* *Window.* Unordered: fewer than ``window`` requests are in flight. Ordered (the receiver restores the order, as for a
  merge): the last sequence sent is less than ``window`` above the highest sequence up to which all are answered, which
  bounds the early requests that the receiver must keep.
* *End of stream.* Each sink sends one. All but the last sink's are dropped, or stripped from a request that has chunks;
  the last one is sent when nothing else is in flight. So a destination gets exactly one, as its last request.

A request that must wait stays at the head, uncounted. Sequences are assigned when requests are sent.
"""

from __future__ import annotations

from collections import deque

from pyspark_pipeline.exchange.codec import Payload, payload_bytes
from pyspark_pipeline.local.transport.request import Request

WINDOW = 64
BATCH_BYTES = 262144


class SendWindow:
    """Requests of one sender to one destination. ``sinks`` is the number of sinks that have not ended here.

    Queued chunks share a request of at most ``batch_bytes``; a larger chunk has a request of its own.
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
        """Queue a payload: in the last queued request, or in a new one if that has an end or would be too large."""
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
        """Queue the end of one sink's stream: in the last queued request if there is one."""
        if self._queue and not self._queue[-1].eos:
            self._queue[-1].eos = True
        else:
            self._queue.append(Request(destination=self.destination, sender=self.sender, eos=True))

    def must_wait(self) -> bool:
        """Return whether the head of the queue must not be sent now."""
        if not self.answered and self.in_flight:
            return True
        outstanding = self.sent - self.continuous if self.ordered else self.in_flight
        if outstanding >= self.window:
            return True
        return self._queue[0].eos and self.sinks == 1 and self.in_flight > 0

    def next(self) -> Request | None:
        """Remove and return the next request that may be sent, with its sequence; None if there is none."""
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
        """Handle the answer of a request; answers arrive in any order."""
        self.in_flight -= 1
        self.answered += 1
        self._ahead.add(sequence)
        while self.continuous + 1 in self._ahead:
            self.continuous += 1
            self._ahead.remove(self.continuous)

    def abandon(self) -> list[Request]:
        """Drop and return the queued requests: the destination wants no more. Their ends of stream count as sent."""
        dropped = list(self._queue)
        self._queue.clear()
        self.sinks -= sum(request.eos for request in dropped)
        return dropped
