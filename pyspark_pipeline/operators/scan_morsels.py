"""The morsels of a scan: row groups still to read, of files opened when needed, shared by the scan's drivers.

A split waits, is opened by the driver that finds no morsel left, and becomes a morsel for each row group that may hold
a row that counts. To open a file may take long: the lock is not held meanwhile. The other drivers open other splits and
take each other's morsels; where no split is left either, they have nothing *yet* (:meth:`MorselQueue.must_wait`), until
``changed`` tells that a file is open.

One lock guards splits, morsels and counts; ``changed`` is notified after it is released.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from pyspark_pipeline.exec.event import Event
from pyspark_pipeline.operators.parquet_file import ParquetFileReader
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import ScanSplit


class Morsel(NamedTuple):
    """A row group of an open file. Of what joins learned, the first ``asked`` conditions did not rule it out."""

    reader: ParquetFileReader
    group: int
    split: ScanSplit
    asked: int


class MorselQueue:
    """What a scan has still to read. ``learned`` gives what joins learned by now: later conditions come behind."""

    def __init__(
        self,
        splits: Sequence[ScanSplit],
        open_file: Callable[[ScanSplit], ParquetFileReader],
        learned: Callable[[], Sequence[Expr]] = tuple,
    ) -> None:
        self.changed = Event("a file of a scan is open")
        self._open_file = open_file
        self._learned = learned
        self._splits = deque(splits)
        self._morsels: deque[Morsel] = deque()
        self._opening = 0
        self._lock = threading.Lock()
        self._files = self._pruned = self._pruned_by_joins = 0

    def must_wait(self) -> bool:
        """Say whether there is nothing to take or to open, while others still open files."""
        return self._opening > 0 and not self._morsels and not self._splits

    def is_ended(self) -> bool:
        """Say whether there is nothing to take and never will be."""
        with self._lock:
            return not self._morsels and not self._splits and not self._opening

    def next(self) -> Morsel | None:
        """Take a row group, for which at most one file is opened; None where there is none, or none yet."""
        with self._lock:
            split = self._splits.popleft() if self._splits and not self._morsels else None
            self._opening += split is not None
        if split is not None:
            self._open(split)
        with self._lock:
            morsel = self._morsels.popleft() if self._morsels else None
        return morsel if morsel is None or self._may_match(morsel) else None

    def take_counts(self) -> tuple[int, int, int]:
        """Give the footers read and the row groups pruned, by Spark's filters and by joins, since the last call."""
        with self._lock:
            counts = self._files, self._pruned, self._pruned_by_joins
            self._files = self._pruned = self._pruned_by_joins = 0
            return counts

    def _open(self, split: ScanSplit) -> None:
        found: list[Morsel] = []
        files = pruned = by_joins = 0
        try:
            reader = self._open_file(split)
            groups, pruned = reader.row_groups(split)
            conditions = self._learned()
            kept = reader.may_match(groups, conditions)
            files, by_joins = 1, len(groups) - len(kept)
            found = [Morsel(reader, group, split, len(conditions)) for group in kept]
        finally:
            with self._lock:
                self._opening -= 1
                self._morsels.extend(found)
                self._files += files
                self._pruned += pruned
                self._pruned_by_joins += by_joins
                may_others_wait = not self._splits
            if may_others_wait:
                self.changed.notify()

    def _may_match(self, morsel: Morsel) -> bool:
        """Ask what joins learned since the file was opened."""
        conditions = self._learned()[morsel.asked :]
        if not conditions or morsel.reader.may_match([morsel.group], conditions):
            return True
        with self._lock:
            self._pruned_by_joins += 1
        return False
