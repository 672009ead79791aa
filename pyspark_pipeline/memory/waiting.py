"""Bytes that wait between drivers (queues, local exchanges): of no operator, counted below the instance."""

from __future__ import annotations

from pyspark_pipeline.memory.tracker import MemoryTracker

_SHARE = 8
"""What waits leaves the operators their memory: at most this part of the instance's limit."""


class WaitingBytes:
    """Counts bytes in a tracker ``name`` below an instance's; before :meth:`account_to`, nowhere. Any thread."""

    __slots__ = ("name", "_memory")

    def __init__(self, name: str) -> None:
        self.name = name
        self._memory: MemoryTracker | None = None

    def account_to(self, instance_memory: MemoryTracker | None) -> None:
        """Count below ``instance_memory`` from now on; the first that is not None stays."""
        if self._memory is None and instance_memory is not None:
            self._memory = instance_memory.child(self.name)

    def bounded(self, most: int) -> int:
        """Give how many bytes may wait: ``most``, or less where the instance's limit is small."""
        limit = self._memory.parent.limit if self._memory is not None and self._memory.parent is not None else None
        return most if limit is None else min(most, max(1, limit // _SHARE))

    def hold(self, nbytes: int) -> None:
        """Count bytes that wait, over the limit if need be."""
        if self._memory is not None and nbytes:
            self._memory.force_consume(nbytes)

    def holds(self, nbytes: int) -> bool:
        """Count bytes that wait, come what may; say whether they fit below the limit."""
        if self._memory is None or self._memory.try_consume(nbytes):
            return True
        self._memory.force_consume(nbytes)
        return False

    def release(self, nbytes: int) -> None:
        """Count bytes as gone."""
        if self._memory is not None and nbytes:
            self._memory.release(nbytes)
