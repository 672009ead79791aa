"""Counts the bytes of payloads, each once however many requests hold it: a broadcast sends one to every destination."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark_pipeline.exchange.codec import Payload, payload_bytes
from pyspark_pipeline.memory import MemoryTracker


class SharedBytes:
    """The payloads held in one place, counted in ``memory``. Not locked."""

    __slots__ = ("nbytes", "_memory", "_held")

    def __init__(self, memory: MemoryTracker) -> None:
        self.nbytes = 0
        self._memory = memory
        self._held: dict[int, tuple[int, int]] = {}  # by identity: how often, and how many bytes

    def add(self, payloads: Iterable[Payload]) -> None:
        """Count payloads that came, each of which stays as it is while it is here."""
        more = 0
        for payload in payloads:
            times, nbytes = self._held.get(id(payload), (0, 0))
            if not times:
                nbytes = payload_bytes(payload)
                more += nbytes
            self._held[id(payload)] = times + 1, nbytes
        if more:
            self.nbytes += more
            self._memory.force_consume(more)

    def remove(self, payloads: Iterable[Payload]) -> None:
        """Count payloads that went."""
        less = 0
        for payload in payloads:
            times, nbytes = self._held.pop(id(payload))
            if times > 1:
                self._held[id(payload)] = times - 1, nbytes
            else:
                less += nbytes
        if less:
            self.nbytes -= less
            self._memory.release(less)
