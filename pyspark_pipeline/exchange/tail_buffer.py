"""Rows that the sinks of an instance still stage when they end: the last sink sends them, in one message per channel.

Otherwise every driver of an instance would send its few rows to every channel: many small messages, each with a fixed
cost.
"""

from __future__ import annotations

import threading

from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.memory import MemoryTracker


class TailBuffer:
    """The staged chunks of ended sinks, for the last sink. Their bytes count against the instance."""

    def __init__(self) -> None:
        self._sinks = 0
        self._unclosed = 0
        self._chunks: list[Chunk] = []
        self._memory: MemoryTracker | None = None
        self._lock = threading.Lock()

    def open_sink(self) -> None:
        """Register a sink; all are registered before any ends."""
        self._sinks += 1
        self._unclosed += 1

    def hand_over(self, chunks: list[Chunk], nbytes: int, memory: MemoryTracker) -> list[Chunk]:
        """Keep the staged chunks of a sink that ends, counted below ``memory``; return all of them to the last sink."""
        with self._lock:
            self._sinks -= 1
            left, self._chunks = [*self._chunks, *chunks], []
            if not self._sinks:
                self._clear()
                return left
            self._chunks = left
            if chunks:
                self._memory = self._memory or memory.child("rows of sinks that ended")
                self._memory.consume_unchecked(nbytes)
            return []

    def close_sink(self) -> None:
        """Unregister a closed sink; the last one discards chunks that no sink has sent."""
        with self._lock:
            self._unclosed -= 1
            if not self._unclosed:
                self._clear()

    def _clear(self) -> None:
        self._chunks = []
        if self._memory is not None:
            self._memory.reserve(0)
            self._memory.close()
            self._memory = None
