"""Memory arbitration: if memory is short, the largest reclaimable holder spills, not the requester.

An operator that can spill its memory (an aggregation that is collecting groups, for example) *registers* it as
reclaimable. For a request over a limit the arbiter requests the reclaim of the largest registered groups, as many as
needed, and grants it at once: the excess over the limit never exceeds the bytes whose reclaim is pending. It rejects
the request, without any reclaim, if the registered bytes do not suffice, or if the requester's own group is the next
largest or has a reclaim pending: the requester then spills itself. A requester with registered memory is also rejected
over twice the limit: pending reclaims are slow. No driver waits for memory. ::

    (none) ──register──> registered ──request of another──> requested ──reclaim_done──> registered
                             └────────────unregister────────────┴──> (none); returns whether reclaim was requested

A reclaim request sets a flag and, after the lock is released, wakes the holder's driver, which spills the bytes before
any other work (``Operator.reclaim``). The lock of the tracker tree guards all state of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from pyspark_pipeline.metrics import declare_counter

RECLAIMS = declare_counter(
    "revocations", "Times an operator spilled because another one needed the memory", unit="times"
)

#: A requester with reclaimable memory is rejected over this many times the limit.
_MAX_OVERCOMMIT = 2

Wake = Callable[[], None]


class Holder(Protocol):
    """A tracker as the arbiter sees it."""

    limit: int | None
    held: int
    reclaim_requested: bool

    @property
    def parent(self) -> Holder | None:
        """The parent tracker."""


class Reclaimable:
    """A group of holders that spill together: one operator, or all drivers that build one join.

    A group of less than ``min_bytes`` bytes is never reclaimed.
    """

    __slots__ = ("min_bytes",)

    def __init__(self, min_bytes: int) -> None:
        self.min_bytes = min_bytes


class Arbiter:
    """The reclaimable holders of one tracker tree."""

    __slots__ = ("_registered",)

    def __init__(self) -> None:
        self._registered: dict[Holder, tuple[Reclaimable, Wake | None]] = {}

    def register(self, holder: Holder, reclaimable: Reclaimable, wake: Wake | None) -> None:
        """Register all bytes of ``holder`` as reclaimable, as part of the group ``reclaimable``."""
        self._registered[holder] = (reclaimable, wake)

    def unregister(self, holder: Holder) -> bool:
        """Unregister a holder, if registered; return whether its reclaim was requested."""
        was_requested, holder.reclaim_requested = holder.reclaim_requested, False
        self._registered.pop(holder, None)
        return was_requested

    def select(self, full: Holder, requester: Holder, nbytes: int) -> list[Holder] | None:
        """Return the holders to reclaim so that ``requester`` can get ``nbytes`` below ``full``; None: reject."""
        if requester.reclaim_requested or full.limit is None or not self._registered:
            return None
        if requester in self._registered and full.held + nbytes > _MAX_OVERCOMMIT * full.limit:
            return None
        sizes: dict[Reclaimable, int] = {}
        missing = full.held + nbytes - full.limit
        for holder, (reclaimable, _) in self._registered.items():
            if not _is_below(holder, full):
                continue
            if holder.reclaim_requested:
                missing -= holder.held
            else:
                sizes[reclaimable] = sizes.get(reclaimable, 0) + holder.held
        own = self._registered[requester][0] if requester in self._registered else None
        chosen: set[Reclaimable] = set()
        for reclaimable in sorted(sizes, key=sizes.__getitem__, reverse=True):
            if missing <= 0 or reclaimable is own or sizes[reclaimable] < reclaimable.min_bytes:
                break
            chosen.add(reclaimable)
            missing -= sizes[reclaimable]
        if missing > 0:
            return None
        return [holder for holder, (reclaimable, _) in self._registered.items() if reclaimable in chosen]

    def request(self, holders: Iterable[Holder]) -> list[Wake]:
        """Request the reclaim of holders; return the wakers to call after the lock is released."""
        wakes = []
        for holder in holders:
            holder.reclaim_requested = True
            wake = self._registered[holder][1]
            if wake is not None:
                wakes.append(wake)
        return wakes


def _is_below(holder: Holder | None, full: Holder) -> bool:
    while holder is not None and holder is not full:
        holder = holder.parent
    return holder is not None
