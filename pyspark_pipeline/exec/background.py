"""Background work that a fragment instance has under way: the only thing outside drivers it may wait for.

Operators never wait; a thread that prefetches or spills for one registers here for as long as it works.
So an executor whose drivers are all blocked knows whether a wake-up can still come (wait for it) or
cannot (a bug: say so instead of hanging).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class BackgroundWork:
    """Names and numbers of the work under way. Every method may be called from any thread."""

    __slots__ = ("_counts", "_lock", "_ended")

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._lock = threading.Lock()
        self._ended = threading.Condition(self._lock)

    def started(self, name: str) -> None:
        """Register one piece of work."""
        with self._lock:
            self._counts[name] = self._counts.get(name, 0) + 1

    def done(self, name: str) -> None:
        """Take one piece of work off; the caller wakes its driver afterwards."""
        with self._lock:
            left = self._counts[name] - 1
            if left:
                self._counts[name] = left
            else:
                del self._counts[name]
                self._ended.notify_all()

    def is_idle(self) -> bool:
        """Say whether nothing is under way."""
        return not self._counts

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait for all of it to end, at most ``seconds``; say whether it did. Only for the end of an instance."""
        with self._lock:
            return self._ended.wait_for(self.is_idle, seconds)

    def names(self) -> list[str]:
        """Name what is under way."""
        with self._lock:
            return sorted(self._counts)

    @contextmanager
    def working(self, name: str, wake: Callable[[], None]) -> Iterator[None]:
        """Register work for the length of a ``with`` block and call ``wake`` after it."""
        self.started(name)
        try:
            yield
        finally:
            self.done(name)
            wake()
