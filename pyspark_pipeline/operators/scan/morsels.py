"""The morsels of a scan: row groups still to read, of files opened on demand, shared by the scan's drivers.

A driver that finds no morsel opens the next split, which becomes one morsel for each row group that may hold a matching
row. Opening a file may take long, so the lock is not held. Meanwhile other drivers open other splits and share the
morsels; if no split is left they wait (:meth:`MorselQueue.must_wait`) until ``changed`` reports that a file is open.
A file is closed after its last morsel, or when the last driver leaves.

One lock guards splits, morsels and counts; ``changed`` is notified after it is released.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from pyspark_pipeline.exec.event import Event
from pyspark_pipeline.operators.scan.reader import FileReader
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import ScanSplit


class Morsel(NamedTuple):
    """A row group of an open file; the first ``num_checked`` join conditions did not rule it out."""

    reader: FileReader
    group: int
    split: ScanSplit
    num_checked: int


class MorselQueue:
    """The remaining morsels of a scan, without the row groups in which no row matches ``pushed``.

    ``join_conditions`` returns the conditions of joins; later ones are appended.
    """

    def __init__(
        self,
        splits: Sequence[ScanSplit],
        open_file: Callable[[ScanSplit], FileReader],
        pushed: Sequence[Expr] = (),
        join_conditions: Callable[[], Sequence[Expr]] = tuple,
    ) -> None:
        self.changed = Event("a file of a scan is open")
        self._open_file = open_file
        self._pushed = pushed
        self._join_conditions = join_conditions
        self._splits = deque(splits)
        self._morsels: deque[Morsel] = deque()
        self._unfinished: dict[FileReader, int] = {}
        self._opening = 0
        self._num_drivers = 0
        self._lock = threading.Lock()
        self._files = self._pruned = self._pruned_by_joins = 0

    def must_wait(self) -> bool:
        """Return whether no morsel or split is left, while other drivers still open files."""
        return self._opening > 0 and not self._morsels and not self._splits

    def is_ended(self) -> bool:
        """Return whether there is no morsel and never will be."""
        with self._lock:
            return not self._morsels and not self._splits and not self._opening

    def next(self) -> Morsel | None:
        """Remove and return a row group, opening at most one file; None if there is none, or none yet."""
        with self._lock:
            split = self._splits.popleft() if self._splits and not self._morsels else None
            self._opening += split is not None
        if split is not None:
            self._open(split)
        with self._lock:
            morsel = self._morsels.popleft() if self._morsels else None
        if morsel is None or self._may_match(morsel):
            return morsel
        self.finish(morsel)
        return None

    def finish(self, morsel: Morsel) -> None:
        """Close the file if this was its last unfinished morsel; the driver does not use the reader any more."""
        with self._lock:
            self._unfinished[morsel.reader] -= 1
            is_last = not self._unfinished[morsel.reader]
            if is_last:
                del self._unfinished[morsel.reader]
        if is_last:
            morsel.reader.close()

    def add_driver(self) -> None:
        """Count a driver, before any takes a morsel."""
        self._num_drivers += 1

    def remove_driver(self) -> None:
        """Drop the remaining morsels and close their files if no driver is left."""
        with self._lock:
            self._num_drivers -= 1
            if self._num_drivers:
                return
            readers = list(self._unfinished)
            self._splits.clear()
            self._morsels.clear()
            self._unfinished.clear()
        for reader in readers:
            reader.close()

    def take_counts(self) -> tuple[int, int, int]:
        """Return and reset the counts: files opened, row groups pruned by Spark's filters, and by joins."""
        with self._lock:
            counts = self._files, self._pruned, self._pruned_by_joins
            self._files = self._pruned = self._pruned_by_joins = 0
            return counts

    def _open(self, split: ScanSplit) -> None:
        reader: FileReader | None = None
        found: list[Morsel] = []
        files = pruned = by_joins = 0
        try:
            reader = self._open_file(split)
            groups = reader.row_groups(split)
            matching = reader.may_match(groups, self._pushed)
            conditions = self._join_conditions()
            kept = reader.may_match(matching, conditions)
            files, pruned, by_joins = 1, len(groups) - len(matching), len(matching) - len(kept)
            found = [Morsel(reader, group, split, len(conditions)) for group in kept]
        finally:
            with self._lock:
                if found:
                    self._unfinished[found[0].reader] = len(found)
                self._opening -= 1
                self._morsels.extend(found)
                self._files += files
                self._pruned += pruned
                self._pruned_by_joins += by_joins
                may_others_wait = not self._splits
            if may_others_wait:
                self.changed.notify()
            if reader is not None and not found:
                reader.close()

    def _may_match(self, morsel: Morsel) -> bool:
        """Check the join conditions that became available after the file was opened."""
        conditions = self._join_conditions()[morsel.num_checked :]
        if not conditions or morsel.reader.may_match([morsel.group], conditions):
            return True
        with self._lock:
            self._pruned_by_joins += 1
        return False
