"""A tree of memory trackers: what a child holds, its parents hold too, and any level may have a limit.

Operators tell their tracker how many bytes they hold. Nothing is measured from outside; a tracker is as
honest as its operator. One lock, made by the root, guards the whole tree: the drivers of an instance, and
its I/O threads, count concurrently. Where a limit is reached, others may be asked to give back
(:mod:`~.arbitration`); their drivers are woken, so nobody asks for bytes with a lock held that an executor takes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

from pyspark_pipeline.errors import EngineBugError, ResourceExhaustedError
from pyspark_pipeline.memory.arbitration import Arbiter, Holder, Revocable, Wake

_HOLDERS_NAMED = 5
#: So much who cannot do with less holds over any limit.
LITTLE_BYTES = 1 << 20


class MemoryTracker:
    """One node of the tree: ``held`` and ``peak`` bytes, and the ``limit`` (None: only the parents' limits).

    ``is_asked``: another needs the bytes that were offered here.
    """

    __slots__ = ("name", "limit", "held", "peak", "parent", "is_asked", "_children", "_lock", "_arbiter")

    def __init__(self, name: str, *, limit: int | None = None, parent: MemoryTracker | None = None) -> None:
        self.name = name
        self.limit = limit
        self.held = 0
        self.peak = 0
        self.parent = parent
        self.is_asked = False
        self._children: dict[MemoryTracker, None] = {}
        self._lock: threading.Lock = parent._lock if parent is not None else threading.Lock()
        self._arbiter: Arbiter = parent._arbiter if parent is not None else Arbiter()

    def child(self, name: str, *, limit: int | None = None) -> MemoryTracker:
        """Make a tracker whose bytes count here too."""
        made = MemoryTracker(name, limit=limit, parent=self)
        with self._lock:
            self._children[made] = None
        return made

    def consume(self, nbytes: int) -> None:
        """Count ``nbytes`` more as held; raise :class:`ResourceExhaustedError`, counting nothing, over a limit."""
        full = self._try(nbytes)
        if full is not None:
            raise ResourceExhaustedError(self._complaint(full, nbytes), tells_holders=True)

    def try_consume(self, nbytes: int) -> bool:
        """Count ``nbytes`` more as held and return True, or count nothing and return False."""
        return self._try(nbytes) is None

    def release(self, nbytes: int) -> None:
        """Count ``nbytes`` less; raise :class:`EngineBugError` where less than that is held."""
        with self._lock:
            if nbytes > self.held:
                raise EngineBugError(f"{self.name} releases {nbytes} bytes but holds {self.held}")
            for tracker in self._path():
                tracker.held -= nbytes

    def hold(self, nbytes: int) -> None:
        """Set what is held to ``nbytes``; raise :class:`ResourceExhaustedError` where growth goes over a limit."""
        change = nbytes - self.held
        if change > 0:
            self.consume(change)
        else:
            self.force(nbytes)

    def try_hold(self, nbytes: int, *, may_ask: bool = True) -> bool:
        """Set what is held to ``nbytes`` and return True, or change nothing and return False.

        Not ``may_ask``: no other shall put anything aside for it, for who asks makes room more easily.
        """
        change = nbytes - self.held
        if change > 0:
            return self._try(change, may_ask) is None
        self.force(nbytes)
        return True

    def force(self, nbytes: int) -> None:
        """Set what is held to ``nbytes`` over any limit: for little, or for what cannot be put aside.

        What is asked for afterwards is refused until enough is released, so others make room.
        """
        with self._lock:
            self._add(nbytes - self.held)

    def hold_least(self, nbytes: int) -> None:
        """Set what is held to ``nbytes``, of which nothing can be put aside any more: little over any limit.

        Raises :class:`ResourceExhaustedError` where more than :data:`LITTLE_BYTES` does not fit.
        """
        if nbytes <= LITTLE_BYTES:
            if not self.try_hold(nbytes):
                self.force(nbytes)
        else:
            self.hold(nbytes)

    def force_consume(self, nbytes: int) -> None:
        """Count ``nbytes`` more as held, over any limit as :meth:`force` does; for holders with several threads."""
        with self._lock:
            self._add(nbytes)

    def available(self) -> int | None:
        """Give the bytes left before the nearest limit of this tracker or a parent; None without any limit."""
        left = [tracker.limit - tracker.held for tracker in self._path() if tracker.limit is not None]
        return min(left) if left else None

    def least_limit(self) -> int | None:
        """Give the least limit of this tracker and its parents; None where none has one."""
        limits = [tracker.limit for tracker in self._path() if tracker.limit is not None]
        return min(limits) if limits else None

    def offer(self, revocable: Revocable, wake: Wake | None = None) -> None:
        """Offer to put aside all that is held here, now and later; ``wake`` is called, from any thread, when asked."""
        with self._lock:
            self._arbiter.offer(self, revocable, wake)

    def withdraw(self) -> bool:
        """Offer nothing any more; say whether it was asked for, so that it is still to be put aside. Repeatable."""
        with self._lock:
            return self._arbiter.withdraw(self)

    def answer(self) -> None:
        """Say that what was asked for is given back."""
        with self._lock:
            self.is_asked = False

    def close(self) -> int:
        """Leave the tree, releasing what is still held; return those bytes (0: nothing leaked). Repeatable.

        What is counted here afterwards, by who had not heard of it, counts nowhere else.
        """
        self.withdraw()
        with self._lock:
            leaked = self.held
            self._add(-leaked)
            parent, self.parent = self.parent, None
            if parent is not None:
                parent._children.pop(self, None)
        return leaked

    def holders(self) -> list[tuple[str, int]]:
        """List who holds how many bytes, most first: every tracker below (or this), less what its children hold."""
        with self._lock:
            own = [(t.name, t.held - sum(c.held for c in t._children)) for t in self._below()]
        return sorted(((name, held) for name, held in own if held > 0), key=lambda pair: -pair[1])

    def _try(self, nbytes: int, may_ask: bool = True) -> MemoryTracker | None:
        """Count bytes, or give the tracker whose limit is in the way."""
        if nbytes < 0:
            raise EngineBugError(f"{self.name} asks for {nbytes} bytes")
        asked: list[Holder] = []
        wakes: list[Wake] = []
        with self._lock:
            tracker: MemoryTracker | None = self
            while tracker is not None:
                if tracker.limit is not None and tracker.held + nbytes > tracker.limit:
                    chosen = self._arbiter.chosen(tracker, self, nbytes) if may_ask else None
                    if chosen is None:
                        return tracker
                    asked += chosen
                tracker = tracker.parent
            self._add(nbytes)
            if asked:
                wakes = self._arbiter.ask(asked)
        for wake in wakes:
            wake()
        return None

    def _add(self, nbytes: int) -> None:
        """Count bytes more (or fewer) here and in the parents; the caller has the lock."""
        for tracker in self._path():
            tracker.held += nbytes
            if tracker.held > tracker.peak:
                tracker.peak = tracker.held

    def account(self) -> str:
        """Tell what is held here, what the nearest tracker with a limit (else the root) holds, and who holds most."""
        path = list(self._path())
        limited = next((tracker for tracker in path if tracker.limit is not None), path[-1])
        return f"{self.name} holds {self.held} bytes; {limited._account_of_limit()}"

    def _complaint(self, full: MemoryTracker, nbytes: int) -> str:
        return f"{self.name} asked for {nbytes} bytes and holds {self.held}; {full._account_of_limit()}"

    def _account_of_limit(self) -> str:
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
