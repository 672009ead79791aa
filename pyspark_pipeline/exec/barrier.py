"""The peers' barrier: of the drivers that arrive, exactly the last one of a round learns that it was the last.

Velox' ``Task::allPeersFinished``. The last driver gets what every peer brought, does what needs all of it
(merge the parts of a join's table, say) and goes on; the others end or wait for an event of their own.
The barrier forgets the round and can be used again.

No thread waits at a barrier, so an error needs to wake nobody: the executor stops the drivers, then closes their
operators. Whose the barrier is closes it when nobody wants the round any more: it lets go what was handed in, and from
then on nobody is the last.
"""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

from pyspark_pipeline.errors import EngineBugError

Part = TypeVar("Part")


class Barrier(Generic[Part]):
    """A barrier of ``peers`` drivers. One lock guards the round; nothing waits."""

    __slots__ = ("peers", "_parts", "_is_closed", "_lock")

    def __init__(self, peers: int) -> None:
        self.peers = peers
        self._parts: dict[int, Part] = {}
        self._is_closed = False
        self._lock = threading.Lock()

    def arrive(self, driver_sequence: int, part: Part) -> list[Part] | None:
        """Hand in a driver's part: None for all but the last, who gets all parts in order of the drivers.

        Drops the part where the barrier is closed; raises :class:`EngineBugError` where a driver arrives twice in a
        round.
        """
        with self._lock:
            if self._is_closed:
                return None
            if driver_sequence in self._parts:
                raise EngineBugError(f"driver {driver_sequence} arrived twice at a barrier of {self.peers}")
            self._parts[driver_sequence] = part
            if len(self._parts) < self.peers:
                return None
            parts, self._parts = self._parts, {}
        return [parts[sequence] for sequence in sorted(parts)]

    def close(self) -> None:
        """Drop the parts of the round and all that still come. Repeatable."""
        with self._lock:
            self._is_closed = True
            self._parts = {}

    def statistics(self) -> dict[str, int]:
        """Say how many of how many peers have arrived in this round."""
        return {"arrived": len(self._parts), "peers": self.peers}
