"""The bounded queue at the end of a fragment instance: sinks push items, the generator drains them.

Guarantees: items leave in the order they were pushed; ``is_full`` makes sinks refuse input, so a slow consumer blocks
the drivers instead of filling memory. The bounds, a number of items and of bytes, are soft: a push is never refused,
since one chunk may need several items. Queued bytes are counted in the instance's memory. One lock guards the items;
events are notified after it is released.

Drivers that find the queue full wait in a FIFO queue (``room``): one is woken for each free place. It may have nothing
to push; so when nothing else can run, the executor wakes all that remain (``wake_waiters``).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

from pyspark_pipeline.exec.event import Event, WaiterQueue
from pyspark_pipeline.memory import BufferedBytes, MemoryTracker

_MAX_BYTES = 64 << 20


class OutputQueue:
    """The output items of an instance.

    ``filled`` is notified when the queue becomes non-empty and when it becomes full, ``drained`` when it is full no
    more.
    """

    __slots__ = (
        "capacity", "max_bytes", "filled", "drained", "room", "pushed", "full_times", "_items", "_held", "_memory",
        "_lock",
    )  # fmt: skip

    def __init__(self, capacity: int = 16, max_bytes: int = _MAX_BYTES) -> None:
        self.capacity = capacity
        self.max_bytes = max_bytes
        self.filled = Event("output queue has items")
        self.drained = Event("output queue has room")
        self.room = WaiterQueue("output queue has room for one")
        self.pushed = 0
        self.full_times = 0
        self._items: deque[tuple[Any, int]] = deque()
        self._held = 0
        self._memory = BufferedBytes("output queue")
        self._lock = threading.Lock()

    def account_to(self, instance_memory: MemoryTracker) -> None:
        """Count the queued bytes below ``instance_memory``, whose limit bounds them; the first call decides."""
        self._memory.account_to(instance_memory)
        self.max_bytes = self._memory.bounded(self.max_bytes)

    def __len__(self) -> int:
        return len(self._items)

    def is_full(self) -> bool:
        """Return whether sinks should wait."""
        return len(self._items) >= self.capacity or self._held >= self.max_bytes

    def push(self, item: Any, nbytes: int = 0) -> None:
        """Append an opaque item of ``nbytes``."""
        with self._lock:
            was_full = self.is_full()
            self._items.append((item, nbytes))
            self._held += nbytes
            self._memory.add(nbytes)
            self.pushed += 1
            is_first = len(self._items) == 1
            gets_full = not was_full and self.is_full()
            if gets_full:
                self.full_times += 1
        if is_first or gets_full:
            self.filled.notify()

    def pop(self) -> Any:
        """Remove and return the oldest item; raise IndexError if there is none."""
        with self._lock:
            was_full = self.is_full()
            item, nbytes = self._items.popleft()
            self._held -= nbytes
            self._memory.release(nbytes)
            has_room, size = not self.is_full(), len(self._items)
        if was_full and has_room:
            self.drained.notify()
        if has_room:
            self.room.wake(1 if size else self.capacity)
        return item

    def drain(self) -> Iterator[Any]:
        """Remove and yield all items, the oldest first."""
        while len(self):
            yield self.pop()

    def wake_waiters(self) -> bool:
        """Wake all waiters if the queue has capacity; return whether any was woken."""
        if self.is_full() or not len(self.room):
            return False
        self.room.notify()
        return True

    def clear(self) -> None:
        """Drop all items."""
        with self._lock:
            self._items.clear()
            self._memory.release(self._held)
            self._held = 0

    def statistics(self) -> dict[str, int]:
        """Return the number of queued items, of pushed items, and how often the queue was full."""
        return {"items": len(self), "capacity": self.capacity, "pushed": self.pushed, "full_times": self.full_times}
