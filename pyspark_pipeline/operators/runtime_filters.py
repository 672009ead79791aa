"""Runtime filters (Velox: dynamic filters): conditions on scans and other joins, available once a join is built.

During decomposition a join registers its future filters for the scans that read its probe keys, which prune row groups
and drop rows before other columns are decoded, and for the lowest join of the probe pipeline; these are decomposed
later and receive the filters. If the keys come from the broadcast of a join below, its rows are filtered before its
table is built, so that the table's own filters pass fewer rows of a scan. In the probe pipeline they evaluate the
filters at their first chunk: the pipeline has waited for all its tables by then. A scan in another pipeline (below a
union whose inputs run in one instance) waits for the table only until a deadline; then it reads without the filter, and
checks again for each row group.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from pyspark_pipeline.exec.background import BackgroundWork
from pyspark_pipeline.exec.bridge import Bridge
from pyspark_pipeline.exec.deadline import Deadline
from pyspark_pipeline.exec.event import Waker
from pyspark_pipeline.kernels.arrays import Int32Array
from pyspark_pipeline.kernels.join_table import JoinProber, JoinTable
from pyspark_pipeline.kernels.key_filter import KeyFilter
from pyspark_pipeline.memory import MemoryTracker
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import Node

#: The rows of a sample that decides about a filter of rows, and the rows after which its pass rate is checked.
SAMPLE_ROWS = 8192
OBSERVED_ROWS = 1 << 19
#: A filter of rows with a higher pass rate costs more than it saves.
MAX_PASS_RATE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanFilter:
    """The filter of a join for a scan, available once ``built`` is ready.

    ``condition`` returns a condition, bound to the scan's output, that all rows with a match satisfy; None if there is
    none. ``is_awaited``: the scan must wait for it, because it is not in the probe pipeline, which waits anyway.
    """

    built: Bridge[Any]
    condition: Callable[[], Expr | None]
    is_awaited: bool = False


class ScanFilters:
    """The runtime filters of one scan, used by its drivers in any thread; the lock guards the available conditions.

    The drivers wait for awaited filters, at most ``wait_ms`` from the first :meth:`wait` on.
    """

    def __init__(self, filters: Sequence[ScanFilter], wait_ms: int) -> None:
        self._awaited = [filter_.built for filter_ in filters if filter_.is_awaited]
        self._unknown = list(filters)
        self._known: tuple[Expr, ...] = ()
        self._deadline = Deadline("a scan waits for a runtime filter", wait_ms)
        self._lock = threading.Lock()

    def wait(self, waker: Waker, background: BackgroundWork) -> None:
        """Wake a driver of the scan when the wait ends; the first one starts the deadline."""
        waker.wait_for(self._deadline.passed)
        for built in self._awaited:
            built.ready.subscribe(self._end_wait)
            waker.wait_for(built.ready)
        self._deadline.start(background)

    def is_ready(self) -> bool:
        """Return whether the scan may begin: all awaited filters are available, or the deadline has passed."""
        return self._deadline.is_passed() or all(built.is_ready() for built in self._awaited)

    def conditions(self) -> Sequence[Expr]:
        """Return the conditions available now; later ones are appended."""
        if self._unknown:
            with self._lock:
                ready = [filter_ for filter_ in self._unknown if filter_.built.is_ready()]
                found = [filter_.condition() for filter_ in ready]
                self._known += tuple(condition for condition in found if condition is not None)
                self._unknown = [filter_ for filter_ in self._unknown if filter_ not in ready]
        return self._known

    def close(self) -> None:
        """Stop waiting. Repeatable."""
        self._deadline.close()

    def _end_wait(self) -> None:
        if self.is_ready():
            self._deadline.end()


class BuiltKeys(Protocol):
    """The keys of a join's build side, once it is built."""

    def built_table(self) -> JoinTable | None:
        """Return the table; None until it is built, and if the build side was spilled."""

    def key_filter(self) -> KeyFilter | None:
        """Return the filter of the table's keys, built on first call; None if there is no table."""


class BroadcastKeys(BuiltKeys, Protocol):
    """The keys of a join's build side that is a broadcast."""

    @property
    def identity(self) -> Hashable:
        """What tells the table from others in the process: the broadcast and all else that it is made of."""

    def open(self, memory: MemoryTracker) -> None:
        """Build the table, or take that of the process."""


class RowFilter:
    """A filter that drops rows whose ``columns`` (ordinals) are not a key of a join."""

    __slots__ = ("keys", "columns")

    def __init__(self, keys: BuiltKeys, columns: tuple[int, ...]) -> None:
        self.keys = keys
        self.columns = columns


@dataclass(frozen=True, slots=True)
class BuildFilter:
    """A filter that drops rows of a join's build side whose ``columns`` (ordinals) are not a key of another join."""

    keys: BroadcastKeys
    columns: tuple[int, ...]

    @property
    def identity(self) -> Hashable:
        """What tells the rows that it keeps from those of others."""
        return self.keys.identity, self.columns


def sample_rows(rows: int) -> Int32Array:
    """Return the numbers of the rows of a sample of ``rows`` rows, at least one, shape (rows of the sample,)."""
    return np.arange(0, rows, -(-rows // SAMPLE_ROWS), dtype=np.int32)


def share_found(table: JoinTable | None, keys: Sequence[pa.Array], rows: int) -> float:
    """Return the share of ``rows`` rows whose keys are in the table; 1 if there is no table."""
    return 1.0 if table is None else JoinProber(table).find(keys, rows)[1] / rows


class RuntimeFilters:
    """The filters that joins registered, by the node that may apply them."""

    def __init__(self) -> None:
        self._scans: dict[int, list[ScanFilter]] = {}
        self._rows: dict[int, list[RowFilter]] = {}
        self._builds: dict[int, list[BuildFilter]] = {}

    def add_scan_filter(self, scan: Node, filter_: ScanFilter) -> None:
        """Register a filter that may prune the row groups of a scan."""
        self._scans.setdefault(id(scan), []).append(filter_)

    def add_row_filter(self, node: Node, rows: RowFilter) -> None:
        """Register a filter that may drop probe rows of a join, or rows of a scan."""
        self._rows.setdefault(id(node), []).append(rows)

    def add_build_filter(self, join: Node, rows: BuildFilter) -> None:
        """Register a filter that may drop rows of the build side of a join."""
        self._builds.setdefault(id(join), []).append(rows)

    def scan_filters(self, scan: Node) -> list[ScanFilter]:
        """Return the filters registered for a scan."""
        return self._scans.get(id(scan), [])

    def row_filters(self, node: Node) -> list[RowFilter]:
        """Return the filters of rows registered for a join or a scan."""
        return self._rows.get(id(node), [])

    def build_filters(self, join: Node) -> list[BuildFilter]:
        """Return the filters of rows registered for the build side of a join."""
        return self._builds.get(id(join), [])
