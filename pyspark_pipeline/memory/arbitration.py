"""Arbitration: where memory is short, who holds most of what can be put aside gives it back, not who asks for more.

Who can put aside what it holds (an aggregation while it collects groups, say) *offers* it. A request that goes over a
limit has the largest offers asked for, as many as it takes, and is granted at once: what goes over the limit is
never more than what was asked for and is still held. It is refused, and nobody is asked, where the offers do not
suffice or the turn comes to the one that asks: it makes room itself, as does one that has been asked already.
One that offers, and so can make room, is refused what goes over twice the limit, too: the drivers that were asked are
slow to give back. Nobody waits for memory. ::

    (nothing) ──offer──> offered ──a request of another──> asked ──answer──> offered
                            └──────────withdraw──────────────┴──> (nothing); says whether it was asked

Asking sets a flag and, after the lock is released, wakes the holder's driver; that gives the bytes back before it
does anything else (``Operator.revoke``). The lock of the tracker tree guards everything here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from pyspark_pipeline.metrics import declare_counter

REVOCATIONS = declare_counter(
    "revocations", "Times an operator put aside what it held because another needed the memory", unit="times"
)

#: Who offers is refused what goes over so many times the limit.
_MOST = 2

Wake = Callable[[], None]


class Holder(Protocol):
    """A tracker, as arbitration sees it."""

    limit: int | None
    held: int
    is_asked: bool

    @property
    def parent(self) -> Holder | None:
        """The tracker above."""


class Revocable:
    """What is put aside together, by one holder or by several that offer it: the drivers that build one join.

    Of less than ``least`` bytes nobody is asked for.
    """

    __slots__ = ("least",)

    def __init__(self, least: int) -> None:
        self.least = least


class Arbiter:
    """The offers of one tracker tree."""

    __slots__ = ("_offers",)

    def __init__(self) -> None:
        self._offers: dict[Holder, tuple[Revocable, Wake | None]] = {}

    def offer(self, holder: Holder, revocable: Revocable, wake: Wake | None) -> None:
        """Note that all bytes of ``holder`` can be put aside, as part of ``revocable``."""
        self._offers[holder] = (revocable, wake)

    def withdraw(self, holder: Holder) -> bool:
        """Forget an offer; say whether it was asked for. Nothing happens where there is none."""
        was_asked, holder.is_asked = holder.is_asked, False
        self._offers.pop(holder, None)
        return was_asked

    def chosen(self, full: Holder, asking: Holder, nbytes: int) -> list[Holder] | None:
        """Choose whom to ask so that ``asking`` may hold ``nbytes`` more below the limit of ``full``; None: refused."""
        if asking.is_asked or full.limit is None or not self._offers:
            return None
        if asking in self._offers and full.held + nbytes > _MOST * full.limit:
            return None
        sizes: dict[Revocable, int] = {}
        missing = full.held + nbytes - full.limit
        for holder, (revocable, _) in self._offers.items():
            if not _is_below(holder, full):
                continue
            if holder.is_asked:
                missing -= holder.held
            else:
                sizes[revocable] = sizes.get(revocable, 0) + holder.held
        own = self._offers[asking][0] if asking in self._offers else None
        given: set[Revocable] = set()
        for revocable in sorted(sizes, key=sizes.__getitem__, reverse=True):
            if missing <= 0 or revocable is own or sizes[revocable] < revocable.least:
                break
            given.add(revocable)
            missing -= sizes[revocable]
        if missing > 0:
            return None
        return [holder for holder, (revocable, _) in self._offers.items() if revocable in given]

    def ask(self, holders: Iterable[Holder]) -> list[Wake]:
        """Ask holders for what they offer; give what must be called once the lock is released."""
        wakes = []
        for holder in holders:
            holder.is_asked = True
            wake = self._offers[holder][1]
            if wake is not None:
                wakes.append(wake)
        return wakes


def _is_below(holder: Holder | None, full: Holder) -> bool:
    while holder is not None and holder is not full:
        holder = holder.parent
    return holder is not None
