"""What a fragment's joins learn for its scans and other joins: filters that exist once a build side does.

A join that is cut into pipelines offers what it will know to the scans that read its probe keys, and to the lowest
join of the probe pipeline; these are cut after it and take what was offered. In the probe pipeline they ask when their
first chunk is due: the pipeline waits for all its tables by then. A scan in another pipeline (below a union whose
inputs run in one instance) waits for the table too, but until a deadline only; then it reads without, and asks again
for each row group.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark_pipeline.exec.bridge import Bridge
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.deadline import Deadline
from pyspark_pipeline.kernels.join_table import JoinTable
from pyspark_pipeline.kernels.key_filter import KeyFilter
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanFilter:
    """What a join offers a scan, as soon as ``built`` is there.

    ``condition`` gives a condition, bound to the scan's output, that rows with a match fulfil; None where nothing can
    be said. ``is_awaited``: the scan is to wait for it, for it is not in the probe's pipeline, which waits anyway.
    """

    built: Bridge[Any]
    condition: Callable[[], Expr | None]
    is_awaited: bool = False


class ScanFilters:
    """What joins say of one scan's rows. Its drivers ask, in any thread; the lock guards what is known.

    They wait for what they must await, ``wait_ms`` from :meth:`expect` on at most.
    """

    def __init__(self, offered: Sequence[ScanFilter], wait_ms: int) -> None:
        self._awaited = [filter_.built for filter_ in offered if filter_.is_awaited]
        self._unknown = list(offered)
        self._known: tuple[Expr, ...] = ()
        self._deadline = Deadline("a scan waits for a runtime filter", wait_ms)
        self._lock = threading.Lock()

    def expect(self, context: OperatorContext) -> None:
        """Have a driver of the scan woken when it need not wait any longer; the first one starts the clock."""
        if self.need_not_wait():
            return
        context.wake_on(self._deadline.passed)
        for built in self._awaited:
            built.ready.subscribe(self._came)
            context.wake_on(built.ready)
        self._deadline.start(context.background)

    def need_not_wait(self) -> bool:
        """Say whether the scan may begin: all that it awaits is there, or the time is up."""
        return self._deadline.is_passed() or all(built.is_ready() for built in self._awaited)

    def conditions(self) -> Sequence[Expr]:
        """Give what is known by now; what comes later is behind it."""
        if self._unknown:
            with self._lock:
                ready = [filter_ for filter_ in self._unknown if filter_.built.is_ready()]
                found = [filter_.condition() for filter_ in ready]
                self._known += tuple(condition for condition in found if condition is not None)
                self._unknown = [filter_ for filter_ in self._unknown if filter_ not in ready]
        return self._known

    def close(self) -> None:
        """Wait for nothing any more. Repeatable."""
        self._deadline.close()

    def _came(self) -> None:
        if self.need_not_wait():
            self._deadline.end()


class BuiltKeys(Protocol):
    """The keys of a join's built side, as soon as it is there."""

    def built_table(self) -> JoinTable | None:
        """Give the table; None while there is none, and where the side went to disk."""

    def key_filter(self) -> KeyFilter | None:
        """Give the filter of the table's keys, made at the first call; None as for the table."""


class RowFilter:
    """Rows whose ``columns`` (ordinals) are no key of a join may be dropped."""

    __slots__ = ("keys", "columns")

    def __init__(self, keys: BuiltKeys, columns: tuple[int, ...]) -> None:
        self.keys = keys
        self.columns = columns


class RuntimeFilters:
    """What joins offered, by the node that may use it."""

    def __init__(self) -> None:
        self._scans: dict[int, list[ScanFilter]] = {}
        self._rows: dict[int, list[RowFilter]] = {}

    def offer_scan(self, scan: Node, filter_: ScanFilter) -> None:
        """Offer a scan what may prune its row groups."""
        self._scans.setdefault(id(scan), []).append(filter_)

    def offer_rows(self, join: Node, rows: RowFilter) -> None:
        """Offer a join what may drop rows of its probe side."""
        self._rows.setdefault(id(join), []).append(rows)

    def of_scan(self, scan: Node) -> list[ScanFilter]:
        """Give what was offered to a scan."""
        return self._scans.get(id(scan), [])

    def of_rows(self, join: Node) -> list[RowFilter]:
        """Give what was offered to a join."""
        return self._rows.get(id(join), [])
