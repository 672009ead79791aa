"""What a fragment's joins learn for its scans and other joins: filters that exist once a build side does.

A join that is cut into pipelines offers what it will know to the scan that reads its probe keys, and to the lowest
join of the probe pipeline; these are cut after it and take what was offered. They ask when their first chunk is
due: their pipeline waits for all its tables by then.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from pyspark_pipeline.kernels.join_table import JoinTable
from pyspark_pipeline.kernels.key_filter import KeyFilter
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import Node

Learned = Callable[[], Expr | None]
"""Gives a condition, bound to a scan's output, that rows with a match fulfil; None where there is none."""


class ScanFilters:
    """What joins learned for one scan; the drivers of the scan ask, in any thread."""

    def __init__(self, offered: Sequence[Learned]) -> None:
        self._offered = offered
        self._known: tuple[Expr, ...] | None = None
        self._lock = threading.Lock()

    def conditions(self) -> Sequence[Expr]:
        """Give what the tables say, asked when the first file is open."""
        with self._lock:
            if self._known is None:
                self._known = tuple(found for found in (learned() for learned in self._offered) if found is not None)
            return self._known


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
        self._learned: dict[int, list[Learned]] = {}
        self._rows: dict[int, list[RowFilter]] = {}

    def offer_scan(self, scan: Node, learned: Learned) -> None:
        """Offer a scan what may prune its row groups."""
        self._learned.setdefault(id(scan), []).append(learned)

    def offer_rows(self, join: Node, rows: RowFilter) -> None:
        """Offer a join what may drop rows of its probe side."""
        self._rows.setdefault(id(join), []).append(rows)

    def of_scan(self, scan: Node) -> list[Learned]:
        """Give what was offered to a scan."""
        return self._learned.get(id(scan), [])

    def of_rows(self, join: Node) -> list[RowFilter]:
        """Give what was offered to a join."""
        return self._rows.get(id(join), [])
