"""A join whose build side is too large for memory: both sides go to disk and are joined partition by partition.

*Grace* hash join. The first build driver that is refused memory, or that others need it of, turns it on, for all
drivers. Build rows, then probe rows, are dealt out by the hash of their keys; a key's rows of both sides are in
partitions of the same number, so each partition is a join by itself, and every row of a side that must be kept, a
NULL key too, is in exactly one. When all probe drivers have put their rows aside they take partitions in turn.

The object belongs to the join: it closes the files of every driver when the last probe driver is closed.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark_pipeline.exec.event import Event
from pyspark_pipeline.memory import Revocable
from pyspark_pipeline.memory.spill_files import SpillFile
from pyspark_pipeline.operators import spill_partitions
from pyspark_pipeline.operators.spill_partitions import FAN, SpillPartitions


class Closable(Protocol):
    """What holds files."""

    def close(self) -> None:
        """Drop them. Repeatable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinPartition:
    """One partition of both sides. ``above``: the build rows of the partition it was dealt out from (−1: of none)."""

    level: int
    build: tuple[SpillFile, ...]
    probe: tuple[SpillFile, ...]
    above: int = -1

    @property
    def build_rows(self) -> int:
        """Rows of the build side."""
        return sum(file.rows for file in self.build)

    @property
    def probe_rows(self) -> int:
        """Rows of the probe side."""
        return sum(file.rows for file in self.probe)

    @property
    def build_bytes(self) -> int:
        """Bytes that the build side has in memory; on disk it may be compressed to far fewer."""
        return sum(file.memory_bytes for file in self.build)

    @property
    def probe_bytes(self) -> int:
        """Bytes that the probe side has in memory."""
        return sum(file.memory_bytes for file in self.probe)

    def close(self) -> None:
        """Give the disk space back."""
        for file in (*self.build, *self.probe):
            file.close()


def partitions_of(
    build: Sequence[SpillPartitions], probe: Sequence[SpillPartitions], level: int, above: int = -1
) -> list[JoinPartition]:
    """Pair up what several drivers dealt out."""
    return [
        JoinPartition(level=level, build=_files(build, place), probe=_files(probe, place), above=above)
        for place in range(FAN)
    ]


def _files(parts: Sequence[SpillPartitions], place: int) -> tuple[SpillFile, ...]:
    found = [part.files[place] for part in parts]
    return tuple(file for file in found if file is not None)


class JoinSpill:
    """What the drivers of one join share about what is on disk. ``lock`` guards the files until they are handed in.

    ``revocable``: what all build drivers hold, which they put aside together.
    """

    def __init__(self) -> None:
        self.is_on = False
        self.revocable = Revocable(spill_partitions.LEAST_BYTES)
        self.complete = Event("both sides of a join are on disk")
        self.is_complete = False
        self.lock = threading.RLock()
        self.build: list[SpillPartitions] = []
        self._probe: list[SpillPartitions] = []
        self._left: deque[JoinPartition] = deque()
        self._owned: list[Closable] = []
        self._is_closed = False

    def own(self, holder: Closable) -> None:
        """Close ``holder`` when the join is closed: maybe now."""
        with self.lock:
            self._owned.append(holder)
            if self._is_closed:
                holder.close()

    @property
    def is_closed(self) -> bool:
        """Whether the files are gone."""
        return self._is_closed

    def add_probe(self, part: SpillPartitions) -> None:
        """Take the probe rows of a driver, finished."""
        with self.lock:
            self._probe.append(part)
        self.own(part)

    def all_probed(self) -> None:
        """Learn that no probe row comes any more: the partitions can be joined."""
        with self.lock:
            self._left.extend(partitions_of(self.build, self._probe, 0))
        self.is_complete = True
        self.complete.notify()

    def take(self) -> JoinPartition | None:
        """Give the next partition; None where all are taken."""
        with self.lock:
            return self._left.popleft() if self._left else None

    def close(self) -> None:
        """Drop everything. Repeatable."""
        with self.lock:
            self._is_closed = True
            self._left.clear()
            owned, self._owned = self._owned, []
        for holder in owned:
            holder.close()
