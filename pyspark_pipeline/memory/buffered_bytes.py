"""Accounting of bytes buffered between drivers (queues, local exchanges), counted below the instance."""

from __future__ import annotations

from pyspark_pipeline.memory.tracker import MemoryTracker

_SHARE = 8
"""Buffers may use one part in this many of the instance's limit: the rest is for operators."""


class BufferedBytes:
    """Counts bytes in a tracker ``name`` below an instance's; before :meth:`account_to`, nowhere. Thread-safe."""

    __slots__ = ("name", "_memory")

    def __init__(self, name: str) -> None:
        self.name = name
        self._memory: MemoryTracker | None = None

    def account_to(self, instance_memory: MemoryTracker | None) -> None:
        """Count below ``instance_memory`` from now on; only the first tracker that is not None is used."""
        if self._memory is None and instance_memory is not None:
            self._memory = instance_memory.child(self.name)

    def bounded(self, max_bytes: int) -> int:
        """Return the bytes that may be buffered: ``max_bytes``, or fewer if the instance's limit is small."""
        limit = self._memory.parent.limit if self._memory is not None and self._memory.parent is not None else None
        return max_bytes if limit is None else min(max_bytes, max(1, limit // _SHARE))

    def add(self, nbytes: int) -> None:
        """Count buffered bytes, also over the limit."""
        if self._memory is not None and nbytes:
            self._memory.consume_unchecked(nbytes)

    def add_and_check(self, nbytes: int) -> bool:
        """Count buffered bytes, also over the limit; return whether they fit below it."""
        if self._memory is None or self._memory.try_consume(nbytes):
            return True
        self._memory.consume_unchecked(nbytes)
        return False

    def release(self, nbytes: int) -> None:
        """Count bytes as no longer buffered."""
        if self._memory is not None and nbytes:
            self._memory.release(nbytes)
