"""A local exchange moves chunks from the drivers of some pipelines to the drivers of another.

One queue per consumer driver, shared by all producers (Velox' ``LocalExchangeQueue``)::

    producer drivers ──sink──> queue 0 ──source──> consumer driver 0
                     └──────> queue 1 ──source──> consumer driver 1     one cap on the bytes of all queues

* A queue is finished when it is empty and every producer is done. Producers register when their sinks are created,
  which an instance does for all pipelines before any driver runs.
* Sinks refuse input while the buffered bytes reach the cap; each producer may exceed it by one chunk, so a cap of one
  byte still makes progress. Below the cap the producers are woken.
* A consumer that closes drops its queued and future data; when all have closed, the sinks are finished, so producers
  end early.

One lock guards queues and bytes; events are notified after it is released.
"""

from __future__ import annotations

import threading
from collections import deque

from pyspark_pipeline.exec.event import Event
from pyspark_pipeline.exec.local_distribution import Distribution
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.memory import BufferedBytes, MemoryTracker


class _Queue:
    """The queued pieces of one consumer."""

    __slots__ = ("changed", "pieces", "closed")

    def __init__(self, name: str) -> None:
        self.changed = Event(name)
        self.pieces: deque[tuple[Chunk, int]] = deque()
        self.closed = False


class LocalExchange:
    """The state shared by the sinks and the sources of one local exchange."""

    def __init__(
        self, name: str, distribution: Distribution, *, num_consumers: int, max_bytes: int, batch_rows: int = 65536
    ) -> None:
        self.name = name
        self.distribution = distribution
        self.num_consumers = num_consumers
        self.max_bytes = max_bytes
        self.batch_rows = batch_rows
        self.drained = Event(f"{name} has room")
        self.peak_bytes = 0
        self.full_times = 0
        self._buffered = 0
        self._producers = 0
        self._producers_left = 0
        self._open = num_consumers
        self._queues = [_Queue(f"{name} has chunks for driver {i}") for i in range(num_consumers)]
        self._memory = BufferedBytes(name)
        self._lock = threading.Lock()

    def changed(self, consumer: int) -> Event:
        """Return the event notified when a queue becomes non-empty or its input ends."""
        return self._queues[consumer].changed

    def account_to(self, instance_memory: MemoryTracker | None) -> None:
        """Count the buffered bytes below ``instance_memory``, whose limit bounds them (the first call decides)."""
        with self._lock:
            self._memory.account_to(instance_memory)
            self.max_bytes = self._memory.bounded(self.max_bytes)

    # --- producers --------------------------------------------------------------------------------

    def add_producer(self) -> int:
        """Register one more producer and return its number."""
        with self._lock:
            self._producers += 1
            self._producers_left += 1
            return self._producers - 1

    def is_full(self) -> bool:
        """Return whether the buffered bytes reach the cap: producers should wait."""
        return self._buffered >= self.max_bytes

    def is_abandoned(self) -> bool:
        """Return whether every consumer has closed."""
        return self._open == 0

    def put(self, consumer: int, piece: Chunk, nbytes: int) -> None:
        """Queue a piece for a consumer."""
        queue = self._queues[consumer]
        self._memory.add(nbytes)
        with self._lock:
            dropped = queue.closed
            first = not queue.pieces
            if not dropped:
                was_full = self.is_full()
                queue.pieces.append((piece, nbytes))
                self._buffered += nbytes
                self.peak_bytes = max(self.peak_bytes, self._buffered)
                self.full_times += self.is_full() and not was_full
        if dropped:
            self._memory.release(nbytes)
        elif first:
            queue.changed.notify()

    def producer_done(self) -> None:
        """Handle the end of one producer."""
        with self._lock:
            self._producers_left -= 1
            ended = self._producers_left == 0
        if ended:
            for queue in self._queues:
                queue.changed.notify()

    # --- consumers --------------------------------------------------------------------------------

    def has_pieces(self, consumer: int) -> bool:
        """Return whether a piece is queued for the consumer."""
        return bool(self._queues[consumer].pieces)

    def is_finished(self, consumer: int) -> bool:
        """Return whether the consumer has received its last piece."""
        queue = self._queues[consumer]
        return queue.closed or (self._producers_left == 0 and not queue.pieces)

    def take(self, consumer: int) -> list[Chunk]:
        """Remove and return queued pieces of at most ``batch_rows`` rows in total, but at least one if any."""
        pieces = self._queues[consumer].pieces
        taken: list[Chunk] = []
        rows = freed = 0
        with self._lock:
            was_full = self.is_full()
            while pieces and (not taken or self._joins(rows, pieces[0][0].num_rows)):
                piece, nbytes = pieces.popleft()
                taken.append(piece)
                rows += piece.num_rows
                freed += nbytes
            self._buffered -= freed
            woken = was_full and not self.is_full()
        self._freed(freed, woken)
        return taken

    def _joins(self, rows: int, more: int) -> bool:
        return 2 * rows < self.batch_rows and rows + more <= self.batch_rows

    def close_consumer(self, consumer: int) -> None:
        """Drop the queued and future pieces of the consumer. Idempotent."""
        queue = self._queues[consumer]
        with self._lock:
            if queue.closed:
                return
            queue.closed = True
            freed = sum(nbytes for _, nbytes in queue.pieces)
            queue.pieces.clear()
            self._buffered -= freed
            self._open -= 1
        self._freed(freed, True)

    def _freed(self, nbytes: int, wake: bool) -> None:
        self._memory.release(nbytes)
        if wake:
            self.drained.notify()

    def statistics(self) -> dict[str, int]:
        """Return the queued pieces and bytes, their peak, and the open producers and consumers."""
        return {
            "pieces": sum(len(queue.pieces) for queue in self._queues),
            "bytes": self._buffered,
            "peak_bytes": self.peak_bytes,
            "full_times": self.full_times,
            "producers_left": self._producers_left,
            "consumers_open": self._open,
        }
