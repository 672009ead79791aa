"""A tree of memory trackers: a child's bytes count in its parents too, and any level may have a limit.

Operators report the bytes they hold to their tracker; nothing is measured from outside, so the counts are as exact as
the reports. One lock, created by the root, guards the whole tree: the drivers of an instance and its I/O threads count
concurrently. At a limit, other operators may have to reclaim memory (:mod:`~.arbitration`) and their drivers are woken:
so no caller may request bytes while it holds a lock that an executor takes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

from pyspark_pipeline.errors import EngineBugError, ResourceExhaustedError
from pyspark_pipeline.memory.arbitration import Arbiter, Holder, Reclaimable, Wake

_HOLDERS_NAMED = 5
#: A minimum reservation of at most this many bytes is granted over any limit.
ALWAYS_GRANTED_BYTES = 1 << 20


class MemoryTracker:
    """One node of the tree: ``held`` and ``peak`` bytes, and the ``limit`` (None: only the parents' limits).

    ``reclaim_requested``: another operator needs the bytes registered here as reclaimable.
    """

    __slots__ = ("name", "limit", "held", "peak", "parent", "reclaim_requested", "_children", "_lock", "_arbiter")

    def __init__(self, name: str, *, limit: int | None = None, parent: MemoryTracker | None = None) -> None:
        self.name = name
        self.limit = limit
        self.held = 0
        self.peak = 0
        self.parent = parent
        self.reclaim_requested = False
        self._children: dict[MemoryTracker, None] = {}
        self._lock: threading.Lock = parent._lock if parent is not None else threading.Lock()
        self._arbiter: Arbiter = parent._arbiter if parent is not None else Arbiter()

    def child(self, name: str, *, limit: int | None = None) -> MemoryTracker:
        """Create a tracker whose bytes count here too."""
        made = MemoryTracker(name, limit=limit, parent=self)
        with self._lock:
            self._children[made] = None
        return made

    def consume(self, nbytes: int) -> None:
        """Count ``nbytes`` more as held; raise :class:`ResourceExhaustedError`, counting nothing, over a limit."""
        full = self._try(nbytes)
        if full is not None:
            raise ResourceExhaustedError(self._limit_message(full, nbytes), names_holders=True)

    def try_consume(self, nbytes: int) -> bool:
        """Count ``nbytes`` more as held and return True, or count nothing and return False."""
        return self._try(nbytes) is None

    def release(self, nbytes: int) -> None:
        """Count ``nbytes`` less; raise :class:`EngineBugError` if fewer are held."""
        with self._lock:
            if nbytes > self.held:
                raise EngineBugError(f"{self.name} releases {nbytes} bytes but holds {self.held}")
            for tracker in self._path():
                tracker.held -= nbytes

    def reserve(self, nbytes: int) -> None:
        """Set the bytes held to ``nbytes``; raise :class:`ResourceExhaustedError`, changing nothing, over a limit."""
        change = nbytes - self.held
        if change > 0:
            self.consume(change)
        else:
            self.reserve_unchecked(nbytes)

    def try_reserve(self, nbytes: int, *, may_reclaim: bool = True) -> bool:
        """Set the bytes held to ``nbytes`` and return True, or change nothing and return False.

        Without ``may_reclaim`` no other operator spills for this request: the caller frees memory more cheaply itself.
        """
        change = nbytes - self.held
        if change > 0:
            return self._try(change, may_reclaim) is None
        self.reserve_unchecked(nbytes)
        return True

    def reserve_unchecked(self, nbytes: int) -> None:
        """Set the bytes held to ``nbytes`` over any limit: for few bytes, or for bytes that cannot be spilled.

        Later requests are rejected until enough is released, so other operators free memory.
        """
        with self._lock:
            self._add(nbytes - self.held)

    def reserve_minimum(self, nbytes: int) -> None:
        """Set the bytes held to ``nbytes``, the minimum that remains after spilling.

        Up to :data:`ALWAYS_GRANTED_BYTES` are granted over any limit; raises :class:`ResourceExhaustedError` if more do
        not fit.
        """
        if nbytes <= ALWAYS_GRANTED_BYTES:
            if not self.try_reserve(nbytes):
                self.reserve_unchecked(nbytes)
        else:
            self.reserve(nbytes)

    def consume_unchecked(self, nbytes: int) -> None:
        """Count ``nbytes`` more over any limit, like :meth:`reserve_unchecked`; for holders with several threads."""
        with self._lock:
            self._add(nbytes)

    def available(self) -> int | None:
        """Return the bytes left under the nearest limit of this tracker or a parent; None without any limit."""
        left = [tracker.limit - tracker.held for tracker in self._path() if tracker.limit is not None]
        return min(left) if left else None

    def min_limit(self) -> int | None:
        """Return the smallest limit of this tracker and its parents; None if there is none."""
        limits = [tracker.limit for tracker in self._path() if tracker.limit is not None]
        return min(limits) if limits else None

    def register_reclaimable(self, reclaimable: Reclaimable, wake: Wake | None = None) -> None:
        """Register all bytes held here, now and later, as reclaimable; a request calls ``wake``, from any thread."""
        with self._lock:
            self._arbiter.register(self, reclaimable, wake)

    def unregister_reclaimable(self) -> bool:
        """Unregister; return whether reclaim was requested: then the bytes must still be spilled. Idempotent."""
        with self._lock:
            return self._arbiter.unregister(self)

    def reclaim_done(self) -> None:
        """Report that the requested bytes are released."""
        with self._lock:
            self.reclaim_requested = False

    def close(self) -> int:
        """Leave the tree and release the bytes still held; return their number (0: no leak). Idempotent.

        Bytes counted here afterwards, by a thread that did not see the close, count in no other tracker.
        """
        self.unregister_reclaimable()
        with self._lock:
            leaked = self.held
            self._add(-leaked)
            parent, self.parent = self.parent, None
            if parent is not None:
                parent._children.pop(self, None)
        return leaked

    def holders(self) -> list[tuple[str, int]]:
        """Return (name, bytes) of this tracker and all below, each without its children's bytes, largest first."""
        with self._lock:
            own = [(t.name, t.held - sum(c.held for c in t._children)) for t in self._below()]
        return sorted(((name, held) for name, held in own if held > 0), key=lambda pair: -pair[1])

    def _try(self, nbytes: int, may_reclaim: bool = True) -> MemoryTracker | None:
        """Count bytes and return None, or return the tracker whose limit rejects them."""
        if nbytes < 0:
            raise EngineBugError(f"{self.name} asks for {nbytes} bytes")
        to_reclaim: list[Holder] = []
        wakes: list[Wake] = []
        with self._lock:
            tracker: MemoryTracker | None = self
            while tracker is not None:
                if tracker.limit is not None and tracker.held + nbytes > tracker.limit:
                    chosen = self._arbiter.select(tracker, self, nbytes) if may_reclaim else None
                    if chosen is None:
                        return tracker
                    to_reclaim += chosen
                tracker = tracker.parent
            self._add(nbytes)
            if to_reclaim:
                wakes = self._arbiter.request(to_reclaim)
        for wake in wakes:
            wake()
        return None

    def _add(self, nbytes: int) -> None:
        """Count more (or fewer) bytes here and in the parents; the caller holds the lock."""
        for tracker in self._path():
            tracker.held += nbytes
            if tracker.held > tracker.peak:
                tracker.peak = tracker.held

    def describe(self) -> str:
        """Describe the bytes held here and by the nearest tracker with a limit (else the root), and its holders."""
        path = list(self._path())
        limited = next((tracker for tracker in path if tracker.limit is not None), path[-1])
        return f"{self.name} holds {self.held} bytes; {limited._describe_limit()}"

    def _limit_message(self, full: MemoryTracker, nbytes: int) -> str:
        return f"{self.name} asked for {nbytes} bytes and holds {self.held}; {full._describe_limit()}"

    def _describe_limit(self) -> str:
        named = self.holders()[:_HOLDERS_NAMED]
        holders = ", ".join(f"{name} {held}" for name, held in named) or "nobody"
        limit = "bytes without a limit" if self.limit is None else f"of its limit {self.limit} bytes"
        root = list(self._path())[-1]
        beside = f"; with it {root.name} holds {root.held}" if root.held > self.held else ""
        return f"{self.name} holds {self.held} {limit} (most held by: {holders}){beside}"

    def _path(self) -> Iterator[MemoryTracker]:
        tracker: MemoryTracker | None = self
        while tracker is not None:
            yield tracker
            tracker = tracker.parent

    def _below(self) -> Iterator[MemoryTracker]:
        yield self
        for child in self._children:
            yield from child._below()
