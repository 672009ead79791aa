"""A join whose build side is too large for memory: both sides go to disk and are joined partition by partition.

A *Grace* hash join. The first build driver whose reservation is rejected, or whose memory is reclaimed, makes all
drivers spill. Build rows, then probe rows, are partitioned by the hash of their keys. A key's rows of both sides are
in partitions of the same number, so each partition is a join by itself, and every row of an outer side, also with a
NULL key, is in exactly one partition. After all probe drivers have spilled their rows, each takes one partition after
the other.

A :class:`JoinSpill` belongs to the join: it closes the files of all drivers when the last probe driver is closed.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark_pipeline.exec.event import Event
from pyspark_pipeline.memory import Reclaimable
from pyspark_pipeline.memory.spill_files import SpillFile
from pyspark_pipeline.operators import spill_partitions
from pyspark_pipeline.operators.spill_partitions import FAN, SpillPartitions


class Closable(Protocol):
    """An owner of files."""

    def close(self) -> None:
        """Delete the files. Idempotent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinPartition:
    """One partition of both sides. ``parent_build_rows``: build rows of the partition it was split from (−1: none)."""

    level: int
    build: tuple[SpillFile, ...]
    probe: tuple[SpillFile, ...]
    parent_build_rows: int = -1

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
        """Bytes of the build side in memory; on disk it may be compressed to far fewer."""
        return sum(file.memory_bytes for file in self.build)

    @property
    def probe_bytes(self) -> int:
        """Bytes of the probe side in memory."""
        return sum(file.memory_bytes for file in self.probe)

    def close(self) -> None:
        """Delete the files."""
        for file in (*self.build, *self.probe):
            file.close()


def partitions_of(
    build: Sequence[SpillPartitions], probe: Sequence[SpillPartitions], level: int, parent_build_rows: int = -1
) -> list[JoinPartition]:
    """Return the partitions of both sides, each with the files of several drivers."""
    return [
        JoinPartition(
            level=level,
            build=_files(build, number),
            probe=_files(probe, number),
            parent_build_rows=parent_build_rows,
        )
        for number in range(FAN)
    ]


def _files(parts: Sequence[SpillPartitions], number: int) -> tuple[SpillFile, ...]:
    found = [part.files[number] for part in parts]
    return tuple(file for file in found if file is not None)


class JoinSpill:
    """The state of a spilled join shared by its drivers. ``lock`` guards the files until the probe is complete.

    ``reclaimable``: the memory of all build drivers, which spill together.
    """

    def __init__(self) -> None:
        self.is_spilling = False
        self.reclaimable = Reclaimable(spill_partitions.MIN_SPILL_BYTES)
        self.complete = Event("both sides of a join are on disk")
        self.is_complete = False
        self.lock = threading.RLock()
        self.build: list[SpillPartitions] = []
        self._probe: list[SpillPartitions] = []
        self._left: deque[JoinPartition] = deque()
        self._owned: list[Closable] = []
        self._is_closed = False

    def own(self, holder: Closable) -> None:
        """Close ``holder`` when the join is closed; at once if it is already."""
        with self.lock:
            self._owned.append(holder)
            if self._is_closed:
                holder.close()

    @property
    def is_closed(self) -> bool:
        """Whether the files are deleted."""
        return self._is_closed

    def add_probe(self, part: SpillPartitions) -> None:
        """Add the finished probe partitions of a driver."""
        with self.lock:
            self._probe.append(part)
        self.own(part)

    def publish_partitions(self) -> None:
        """Publish the partitions after the last probe row, and notify the probe drivers."""
        with self.lock:
            self._left.extend(partitions_of(self.build, self._probe, 0))
        self.is_complete = True
        self.complete.notify()

    def next_partition(self) -> JoinPartition | None:
        """Remove and return the next partition; None if none is left."""
        with self.lock:
            return self._left.popleft() if self._left else None

    def close(self) -> None:
        """Release the partitions and delete all files. Idempotent."""
        with self.lock:
            self._is_closed = True
            self._left.clear()
            owned, self._owned = self._owned, []
        for holder in owned:
            holder.close()
