"""The peers' barrier: of the drivers that arrive, exactly the last one of a round learns that it was the last.

Velox' ``Task::allPeersFinished``. The last driver gets what every peer brought, does what needs all of it
(merge the parts of a join's table, say) and goes on; the others end or wait for an event of their own.
The barrier forgets the round and can be used again.
"""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

from pyspark_pipeline.errors import EngineBugError

Part = TypeVar("Part")


class Barrier(Generic[Part]):
    """A barrier of ``peers`` drivers. One lock guards the round; nothing waits."""

    __slots__ = ("peers", "_parts", "_lock")

    def __init__(self, peers: int) -> None:
        self.peers = peers
        self._parts: dict[int, Part] = {}
        self._lock = threading.Lock()

    def arrive(self, driver_sequence: int, part: Part) -> list[Part] | None:
        """Hand in a driver's part: None for all but the last, who gets all parts in order of the drivers.

        Raises :class:`EngineBugError` where a driver arrives twice in a round.
        """
        with self._lock:
            if driver_sequence in self._parts:
                raise EngineBugError(f"driver {driver_sequence} arrived twice at a barrier of {self.peers}")
            self._parts[driver_sequence] = part
            if len(self._parts) < self.peers:
                return None
            parts, self._parts = self._parts, {}
        return [parts[sequence] for sequence in sorted(parts)]

    def statistics(self) -> dict[str, int]:
        """Say how many of how many peers have arrived in this round."""
        return {"arrived": len(self._parts), "peers": self.peers}
