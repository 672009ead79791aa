"""The bounded queue at the end of a fragment instance: sinks push items, the generator drains them.

Guarantees: items leave in the order they were pushed; ``is_full`` makes sinks refuse input, so a slow
consumer blocks the drivers instead of filling memory. The bounds, a number of items and of bytes, are soft: a push
is never refused, for a sink may have to give several items for one chunk. The bytes that wait are counted in the
instance's memory. One lock guards the items; events are notified after it is released.

Who waits for room stands in a line: one is woken for each place. Those woken may have nothing to give; so when nothing
else can run, the executor has all woken who still stand there (``relieve``).
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

from pyspark_pipeline.exec.event import Event, Line, Waiter
from pyspark_pipeline.memory import MemoryTracker, WaitingBytes

_MOST_BYTES = 64 << 20


class OutputQueue:
    """Items on their way out.

    ``filled`` fires when it stops being empty and when it gets full, ``drained`` when it stops being full.
    """

    __slots__ = (
        "capacity", "max_bytes", "filled", "drained", "pushed", "full_times", "_items", "_held", "_memory", "_lock",
        "_line",
    )  # fmt: skip

    def __init__(self, capacity: int = 16, max_bytes: int = _MOST_BYTES) -> None:
        self.capacity = capacity
        self.max_bytes = max_bytes
        self.filled = Event("output queue has items")
        self.drained = Event("output queue has room")
        self.pushed = 0
        self.full_times = 0
        self._items: deque[tuple[Any, int]] = deque()
        self._held = 0
        self._memory = WaitingBytes("output queue")
        self._lock = threading.Lock()
        self._line = Line()

    def account_to(self, instance_memory: MemoryTracker) -> None:
        """Count what waits below ``instance_memory``, whose limit bounds it; the first call decides."""
        self._memory.account_to(instance_memory)
        self.max_bytes = self._memory.bounded(self.max_bytes)

    def __len__(self) -> int:
        return len(self._items)

    def is_full(self) -> bool:
        """Say whether sinks should wait."""
        return len(self._items) >= self.capacity or self._held >= self.max_bytes

    def wait(self, wake: Waiter) -> bool:
        """Say whether there is room; where not, have ``wake`` called, once, when there is."""
        self._line.join(wake)
        if self.is_full():
            return False
        self._line.leave(wake)
        return True

    def push(self, item: Any, nbytes: int = 0) -> None:
        """Append an item of ``nbytes``; opaque to the queue."""
        with self._lock:
            was_full = self.is_full()
            self._items.append((item, nbytes))
            self._held += nbytes
            self._memory.hold(nbytes)
            self.pushed += 1
            is_first = len(self._items) == 1
            gets_full = not was_full and self.is_full()
            if gets_full:
                self.full_times += 1
        if is_first or gets_full:
            self.filled.notify()

    def pop(self) -> Any:
        """Take the oldest item; raise IndexError where there is none."""
        with self._lock:
            was_full = self.is_full()
            item, nbytes = self._items.popleft()
            self._held -= nbytes
            self._memory.release(nbytes)
            has_room, size = not self.is_full(), len(self._items)
        if was_full and has_room:
            self.drained.notify()
        if has_room:
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
            self._memory.release(self._held)
            self._held = 0

    def statistics(self) -> dict[str, int]:
        """Say how many items wait, went through, and how often the queue was full."""
        return {"items": len(self), "capacity": self.capacity, "pushed": self.pushed, "full_times": self.full_times}
