"""The bounded queue at the end of a fragment instance: sinks push items, the generator drains them.

Guarantees: items leave in the order they were pushed; ``is_full`` makes sinks refuse input, so a slow
consumer blocks the drivers instead of filling memory. The bound is soft: a push is never refused, for a
sink may have to give several items for one chunk. One lock guards the items; events are notified after
it is released.

Who waits for room stands in a line: one is woken for each place. Those woken may have nothing to give; so when nothing
else can run, the executor has all woken who still stand there (``relieve``).
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from pyspark_pipeline.exec.event import Event, Line, Waiter


class OutputQueue:
    """Items on their way out.

    ``filled`` fires when it stops being empty and when it gets full, ``drained`` when it stops being full.
    """

    __slots__ = ("capacity", "filled", "drained", "pushed", "full_times", "_items", "_lock", "_line")

    def __init__(self, capacity: int = 16) -> None:
        self.capacity = capacity
        self.filled = Event("output queue has items")
        self.drained = Event("output queue has room")
        self.pushed = 0
        self.full_times = 0
        self._items: deque[Any] = deque()
        self._lock = threading.Lock()
        self._line = Line()

    def __len__(self) -> int:
        return len(self._items)

    def is_full(self) -> bool:
        """Say whether sinks should wait."""
        return len(self._items) >= self.capacity

    def wait(self, wake: Waiter) -> bool:
        """Say whether there is room; where not, have ``wake`` called, once, when there is."""
        self._line.join(wake)
        if self.is_full():
            return False
        self._line.leave(wake)
        return True

    def push(self, item: Any) -> None:
        """Append an item; opaque to the queue."""
        with self._lock:
            self._items.append(item)
            self.pushed += 1
            size = len(self._items)
            if size == self.capacity:
                self.full_times += 1
        if size in (1, self.capacity):
            self.filled.notify()

    def pop(self) -> Any:
        """Take the oldest item; raise IndexError where there is none."""
        with self._lock:
            item = self._items.popleft()
            size = len(self._items)
        if size == self.capacity - 1:
            self.drained.notify()
        if size < self.capacity:
            self._line.wake(1 if size else self.capacity)
        return item

    def relieve(self) -> bool:
        """Wake all who wait though there is room; say whether there was anyone."""
        if self.is_full() or not len(self._line):
            return False
        self._line.wake_all()
        return True

    def clear(self) -> None:
        """Drop all items: nobody wants them any more."""
        with self._lock:
            self._items.clear()

    def statistics(self) -> dict[str, int]:
        """Say how many items wait, went through, and how often the queue was full."""
        return {"items": len(self), "capacity": self.capacity, "pushed": self.pushed, "full_times": self.full_times}
