"""Counts the bytes of payloads, once per payload: the requests of a broadcast share one payload."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark_pipeline.exchange.codec import Payload, payload_bytes
from pyspark_pipeline.memory import MemoryTracker

#: The bytes of the objects of a payload, whatever its rows take: a chunk of few rows is mostly objects.
OBJECT_BYTES = 1000


class SharedBytes:
    """A set of payloads whose bytes are counted in ``memory``. Not locked."""

    __slots__ = ("nbytes", "_memory", "_held")

    def __init__(self, memory: MemoryTracker) -> None:
        self.nbytes = 0
        self._memory = memory
        self._held: dict[int, tuple[int, int]] = {}  # by identity: references, bytes

    def add(self, payloads: Iterable[Payload]) -> None:
        """Count added payloads, which must stay unchanged until removed."""
        more = 0
        for payload in payloads:
            times, nbytes = self._held.get(id(payload), (0, 0))
            if not times:
                nbytes = payload_bytes(payload) + OBJECT_BYTES
                more += nbytes
            self._held[id(payload)] = times + 1, nbytes
        if more:
            self.nbytes += more
            self._memory.consume_unchecked(more)

    def remove(self, payloads: Iterable[Payload]) -> None:
        """Count removed payloads."""
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
