"""A bridge passes one value from one pipeline to another: a join's hash table, the state of an aggregation.

Published once, read by any number of drivers, which are blocked (precondition, or no output) until then and subscribe
to ``ready``. Closed when the last reader is, also after an error: the value is released, and no driver waits any more::

    empty ──publish──> ready ──close──> closed
      └────────────────close──────────────┘
"""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec.event import Event

Value = TypeVar("Value")


class Bridge(Generic[Value]):
    """One value, present from its publication until the bridge is closed. Thread-safe."""

    __slots__ = ("name", "ready", "is_closed", "_values", "_lock")

    def __init__(self, name: str) -> None:
        self.name = name
        self.ready = Event(f"{name} is ready")
        self.is_closed = False
        self._values: list[Value] = []
        self._lock = threading.Lock()

    def is_ready(self) -> bool:
        """Return whether no driver needs to wait: the value is published, or the bridge is closed."""
        return bool(self._values) or self.is_closed

    def peek(self) -> Value | None:
        """Return the value; None before it is published and after the bridge is closed."""
        values = self._values
        return values[0] if values else None

    def publish(self, value: Value) -> None:
        """Store the value and notify ``ready``; raise :class:`EngineBugError` the second time.

        Drops the value if the bridge is closed.
        """
        with self._lock:
            if self.is_closed:
                return
            if self._values:
                raise EngineBugError(f"{self.name} is published twice")
            self._values.append(value)
        self.ready.notify()

    def get(self) -> Value:
        """Return the value; raise :class:`EngineBugError` before it is published and after the bridge is closed."""
        values = self._values
        if not values:
            when = "after its bridge was closed" if self.is_closed else "before it is published"
            raise EngineBugError(f"{self.name} is asked for {when}")
        return values[0]

    def close(self) -> None:
        """Release the value and notify ``ready``. Idempotent."""
        with self._lock:
            was_closed, self.is_closed = self.is_closed, True
            self._values = []
        if not was_closed:
            self.ready.notify()
