"""Background work that a fragment instance has under way: the only thing outside drivers it may wait for.

Operators never wait; a thread that prefetches or spills for one registers here for as long as it works.
So an executor whose drivers are all blocked knows whether a wake-up can still come (wait for it) or
cannot (a bug: say so instead of hanging). Work that goes on for very long while every driver waits is such a bug too.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Far longer than a file takes to be read or written.
_PATIENCE_SECONDS = 600.0


class BackgroundWork:
    """Names and numbers of the work under way. Every method may be called from any thread.

    Executors wait ``patience`` seconds for some of it to end where they have nothing else to do.
    """

    __slots__ = ("patience", "changes", "_counts", "_lock", "_ended")

    def __init__(self, patience: float = _PATIENCE_SECONDS) -> None:
        self.patience = patience
        self.changes = 0
        self._counts: dict[str, int] = {}
        self._lock = threading.Lock()
        self._ended = threading.Condition(self._lock)

    def started(self, name: str) -> None:
        """Register one piece of work."""
        with self._lock:
            self.changes += 1
            self._counts[name] = self._counts.get(name, 0) + 1

    def done(self, name: str) -> None:
        """Take one piece of work off; the caller wakes its driver afterwards."""
        with self._lock:
            self.changes += 1
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


class Patience:
    """How long one executor has waited for nothing but background work that neither begins nor ends."""

    __slots__ = ("_background", "_since", "_changes")

    def __init__(self, background: BackgroundWork) -> None:
        self._background = background
        self._since: float | None = None
        self._changes = 0

    def renew(self) -> None:
        """Learn that something else went on."""
        self._since = None

    def is_over(self) -> bool:
        """Say, while waiting, whether that lasts too long."""
        now, changes = time.monotonic(), self._background.changes
        if self._since is None or changes != self._changes:
            self._since, self._changes = now, changes
        return now - self._since > self._background.patience

    def complaint(self) -> str:
        """Say what does not end."""
        names = ", ".join(self._background.names())
        return f"every driver waits for background work that does not end in {self._background.patience:g} s: {names}"
