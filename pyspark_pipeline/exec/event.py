"""An event wakes whoever subscribed to it: how a change of shared state reaches blocked drivers.

Guarantees: ``notify`` takes no lock, never waits, may be called from any thread and also where nobody
listens. A waiter is woken once per ``notify``; being woken is a hint to look again, never a promise that
something changed. Whoever changes shared state notifies *after* the change is visible.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

Waiter = Callable[[], None]

_subscribing = threading.Lock()


class Event:
    """A named list of waiters."""

    __slots__ = ("name", "_waiters")

    def __init__(self, name: str) -> None:
        self.name = name
        self._waiters: tuple[Waiter, ...] = ()

    def subscribe(self, waiter: Waiter) -> None:
        """Call ``waiter`` at every later ``notify``; subscribing the same waiter again changes nothing."""
        with _subscribing:
            if waiter not in self._waiters:
                self._waiters = (*self._waiters, waiter)

    def unsubscribe(self, waiter: Waiter) -> None:
        """Stop calling ``waiter``; nothing happens where it never subscribed."""
        with _subscribing:
            self._waiters = tuple(known for known in self._waiters if known != waiter)

    def notify(self) -> None:
        """Wake every waiter."""
        for waiter in self._waiters:
            waiter()
