"""Background work of a fragment instance: threads outside its drivers that can still wake one.

Operators never wait; a thread that prefetches or spills for an operator registers here while it works. So an executor
whose drivers are all blocked knows whether a wake-up can still come (it waits) or cannot (a bug: it raises instead of
hanging). Work that continues for very long while every driver is blocked is a bug too.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Far longer than reading or writing a file takes.
_STALL_SECONDS = 600.0


class BackgroundWork:
    """Names and counts of the running background tasks. Thread-safe.

    An executor with nothing else to do waits at most ``stall_seconds`` for a task to begin or end.
    """

    __slots__ = ("stall_seconds", "changes", "_counts", "_lock", "_ended", "_may_take_long")

    def __init__(self, stall_seconds: float = _STALL_SECONDS) -> None:
        self.stall_seconds = stall_seconds
        self.changes = 0
        self._counts: dict[str, int] = {}
        self._may_take_long: set[str] = set()
        self._lock = threading.Lock()
        self._ended = threading.Condition(self._lock)

    def started(self, name: str, *, may_take_long: bool = False) -> None:
        """Register one task; a user's function ``may_take_long``: it never counts as a bug."""
        with self._lock:
            if may_take_long:
                self._may_take_long.add(name)
            self.changes += 1
            self._counts[name] = self._counts.get(name, 0) + 1

    def done(self, name: str) -> None:
        """Unregister one task; the caller wakes its driver afterwards."""
        with self._lock:
            self.changes += 1
            left = self._counts[name] - 1
            if left:
                self._counts[name] = left
            else:
                del self._counts[name]
                self._may_take_long.discard(name)
                self._ended.notify_all()

    def is_limited(self) -> bool:
        """Return whether the running tasks should end within ``stall_seconds``."""
        return not self._may_take_long

    def is_idle(self) -> bool:
        """Return whether no task is running."""
        return not self._counts

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait at most ``seconds`` until no task runs; return whether none does. Only for the end of an instance."""
        with self._lock:
            return self._ended.wait_for(self.is_idle, seconds)

    def names(self) -> list[str]:
        """Return the names of the running tasks, sorted."""
        with self._lock:
            return sorted(self._counts)

    @contextmanager
    def working(self, name: str, wake: Callable[[], None]) -> Iterator[None]:
        """Register a task for the duration of a ``with`` block and call ``wake`` after it."""
        self.started(name)
        try:
            yield
        finally:
            self.done(name)
            wake()


class StallDetector:
    """Detects that an executor has waited too long for background work alone, with no task beginning or ending."""

    __slots__ = ("_background", "_since", "_changes")

    def __init__(self, background: BackgroundWork) -> None:
        self._background = background
        self._since: float | None = None
        self._changes = 0

    def reset(self) -> None:
        """Restart the measurement: something other than background work made progress."""
        self._since = None

    def is_stalled(self) -> bool:
        """Return whether the wait has lasted too long; called repeatedly while waiting."""
        now, changes = time.monotonic(), self._background.changes
        if self._since is None or changes != self._changes:
            self._since, self._changes = now, changes
        return self._background.is_limited() and now - self._since > self._background.stall_seconds

    def message(self) -> str:
        """Return the error message that names the running tasks."""
        names = ", ".join(self._background.names())
        seconds = self._background.stall_seconds
        return f"every driver waits for background work that does not end in {seconds:g} s: {names}"
