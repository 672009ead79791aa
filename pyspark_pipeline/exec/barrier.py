"""A barrier of peer drivers: exactly the last driver that arrives in a round receives the parts of all.

Velox' ``Task::allPeersFinished``. The last driver does the work that needs all parts (merging the parts of a join's
hash table, for example) and continues; the others end or wait for an event of their own. The barrier then starts a new
round.

No thread waits at a barrier, so an error wakes no waiter: the executor stops the drivers, then closes their operators.
The owner closes the barrier when the round is no longer needed: its parts are released, and no later driver is the
last.
"""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

from pyspark_pipeline.errors import EngineBugError

Part = TypeVar("Part")


class Barrier(Generic[Part]):
    """A barrier of ``peers`` drivers. One lock guards the round; no thread waits."""

    __slots__ = ("peers", "_parts", "_is_closed", "_lock")

    def __init__(self, peers: int) -> None:
        self.peers = peers
        self._parts: dict[int, Part] = {}
        self._is_closed = False
        self._lock = threading.Lock()

    def arrive(self, driver_sequence: int, part: Part) -> list[Part] | None:
        """Add a driver's part; return all parts in order of the drivers to the last driver, None to the others.

        Drops the part if the barrier is closed; raises :class:`EngineBugError` if a driver arrives twice in a round.
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
        """Drop the parts of the round and all later ones. Idempotent."""
        with self._lock:
            self._is_closed = True
            self._parts = {}

    def statistics(self) -> dict[str, int]:
        """Return the number of peers, and of those that have arrived in this round."""
        return {"arrived": len(self._parts), "peers": self.peers}
