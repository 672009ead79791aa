"""What the sinks of an instance have not dealt out when they end: the last one sends it, in one message a channel.

Else every driver of an instance sent its own few rows to every channel: small messages, which cost by number.
"""

from __future__ import annotations

import threading

from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.memory import MemoryTracker


class SharedRest:
    """Chunks of sinks that have ended, for the last of them. The instance counts them."""

    def __init__(self) -> None:
        self._sinks = 0
        self._unclosed = 0
        self._chunks: list[Chunk] = []
        self._memory: MemoryTracker | None = None
        self._lock = threading.Lock()

    def open_sink(self) -> None:
        """Learn of one more sink; all are opened before any ends."""
        self._sinks += 1
        self._unclosed += 1

    def settle(self, chunks: list[Chunk], nbytes: int, memory: MemoryTracker) -> list[Chunk]:
        """Leave a sink's rest here as it ends, counted below the tracker ``memory``; the last sink gets all."""
        with self._lock:
            self._sinks -= 1
            left, self._chunks = [*self._chunks, *chunks], []
            if not self._sinks:
                self._forget()
                return left
            self._chunks = left
            if chunks:
                self._memory = self._memory or memory.child("rows of sinks that ended")
                self._memory.force_consume(nbytes)
            return []

    def close_sink(self) -> None:
        """Learn that a sink is gone; with the last go chunks that none has taken."""
        with self._lock:
            self._unclosed -= 1
            if not self._unclosed:
                self._forget()

    def _forget(self) -> None:
        self._chunks = []
        if self._memory is not None:
            self._memory.hold(0)
            self._memory.close()
            self._memory = None
