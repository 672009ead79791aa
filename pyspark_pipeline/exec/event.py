"""Events wake all subscribed waiters; waiter queues wake one at a time: both report changes to blocked drivers.

Guarantees: ``notify`` and ``wake`` may be called from any thread, also without waiters, and hold no lock while they
call a waiter. A wake-up is a hint to poll again, not a promise of a change. Code that changes shared state notifies
*after* the change is visible.

If each change serves one waiter only (an item of a queue shared by thousands), waking all would cost more than the
work: then the waiters subscribe to a :class:`WaiterQueue`.

A driver subscribes through its :class:`Waker`, only when it is about to block, and polls again afterwards: a change
before the subscription is seen by that poll, a change after it wakes the driver. So no wake-up is lost.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

Waiter = Callable[[], None]


class Event:
    """A named broadcast: each notification calls every subscribed waiter once."""

    __slots__ = ("name", "_waiters", "_lock")

    def __init__(self, name: str) -> None:
        self.name = name
        self._waiters: OrderedDict[Waiter, None] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._waiters)

    def subscribe(self, waiter: Waiter) -> None:
        """Append a waiter; one that is subscribed already keeps its position."""
        with self._lock:
            self._waiters.setdefault(waiter)

    def unsubscribe(self, waiter: Waiter) -> None:
        """Remove a waiter; no effect if it is not subscribed."""
        with self._lock:
            self._waiters.pop(waiter, None)

    def waiters(self) -> tuple[Waiter, ...]:
        """Return the subscribed waiters, the first one first."""
        with self._lock:
            return tuple(self._waiters)

    def notify(self) -> None:
        """Wake every waiter; they stay subscribed."""
        if self._waiters:
            for waiter in self.waiters():
                waiter()


class WaiterQueue(Event):
    """A FIFO queue of waiters; each is woken once and thereby removed.

    A producer wakes one *after* it added an item. A waiter may be woken and not take the item, so one that leaves items
    behind, or blocks although there are some, wakes one more.
    """

    __slots__ = ()

    def wake(self, count: int = 1) -> None:
        """Wake the first ``count`` waiters."""
        for _ in range(min(count, len(self._waiters))):
            with self._lock:
                waiter = self._waiters.popitem(last=False)[0] if self._waiters else None
            if waiter is not None:
                waiter()

    def notify(self) -> None:
        """Wake all waiters subscribed now."""
        self.wake(len(self._waiters))


class Waker:
    """The waiter of one blocked driver, and the events that it is subscribed to. Used by the driver's thread only."""

    __slots__ = ("wake", "_events")

    def __init__(self, wake: Waiter) -> None:
        self.wake = wake
        self._events: list[Event] = []

    def wait_for(self, event: Event) -> None:
        """Subscribe to an event or a waiter queue, until the driver runs again."""
        self._events.append(event)
        event.subscribe(self.wake)

    def cancel(self) -> None:
        """Unsubscribe from all events: the driver runs."""
        if self._events:
            for event in self._events:
                event.unsubscribe(self.wake)
            self._events.clear()
