"""An event wakes whoever subscribed to it: how a change of shared state reaches blocked drivers.

Guarantees: ``notify`` takes no lock, never waits, may be called from any thread and also where nobody
listens. A waiter is woken once per ``notify``; being woken is a hint to look again, never a promise that
something changed. Whoever changes shared state notifies *after* the change is visible.

Where each change is for one waiter only (an item of a queue that thousands share), waking all costs more than the work.
There the blocked ones stand in a :class:`Line`.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

Waiter = Callable[[], None]

_subscribing = threading.Lock()


class Event:
    """A named list of waiters."""

    __slots__ = ("name", "_waiters")

    def __init__(self, name: str) -> None:
        self.name = name
        self._waiters: dict[Waiter, None] = {}

    def subscribe(self, waiter: Waiter) -> None:
        """Call ``waiter`` at every later ``notify``; subscribing the same waiter again changes nothing."""
        with _subscribing:
            self._waiters[waiter] = None

    def unsubscribe(self, waiter: Waiter) -> None:
        """Stop calling ``waiter``; nothing happens where it never subscribed."""
        with _subscribing:
            self._waiters.pop(waiter, None)

    def notify(self) -> None:
        """Wake every waiter."""
        for waiter in tuple(self._waiters):
            waiter()


class Line:
    """Waiters that found nothing, first come, first woken; each is woken once and then stands here no more.

    A driver joins by asking (``has_output`` of a source, ``need_input`` of a sink): whoever is told no is in the line,
    whatever its driver then says that it waits for.

    No wake-up is lost if a waiter joins *before* it looks for the last time, if whoever adds something wakes
    afterwards, and if whoever takes something and leaves something wakes one more.
    """

    __slots__ = ("_waiters", "_lock")

    def __init__(self) -> None:
        self._waiters: OrderedDict[Waiter, None] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._waiters)

    def join(self, waiter: Waiter) -> None:
        """Stand at the end of the line; who stands in it already stays where it is."""
        with self._lock:
            self._waiters.setdefault(waiter)

    def leave(self, waiter: Waiter) -> None:
        """Stand in the line no more; nothing happens where it does not."""
        with self._lock:
            self._waiters.pop(waiter, None)

    def wake_one(self) -> None:
        """Wake the first of the line, if there is one."""
        if not self._waiters:
            return
        with self._lock:
            waiter = self._waiters.popitem(last=False)[0] if self._waiters else None
        if waiter is not None:
            waiter()

    def wake(self, count: int) -> None:
        """Wake the first ``count`` of the line."""
        for _ in range(min(count, len(self._waiters))):
            self.wake_one()

    def wake_all(self) -> None:
        """Wake everyone who stands in the line now."""
        self.wake(len(self._waiters))
