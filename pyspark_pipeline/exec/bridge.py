"""A bridge carries one value from one pipeline to another: a join's table, the state of an aggregation.

Published once, read by any number of drivers, which are blocked (precondition, or no output) until then
and subscribe to ``ready``.
"""

from __future__ import annotations

import threading
from typing import Generic, TypeVar

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec.event import Event

Value = TypeVar("Value")


class Bridge(Generic[Value]):
    """One value that is not there, and then is there for good. Any thread may ask."""

    __slots__ = ("name", "ready", "_values", "_lock")

    def __init__(self, name: str) -> None:
        self.name = name
        self.ready = Event(f"{name} is ready")
        self._values: list[Value] = []
        self._lock = threading.Lock()

    def is_ready(self) -> bool:
        """Say whether the value has been published."""
        return bool(self._values)

    def publish(self, value: Value) -> None:
        """Give the value and wake who waits; raise :class:`EngineBugError` the second time."""
        with self._lock:
            if self._values:
                raise EngineBugError(f"{self.name} is published twice")
            self._values.append(value)
        self.ready.notify()

    def get(self) -> Value:
        """Take the value; raise :class:`EngineBugError` before it is published."""
        if not self._values:
            raise EngineBugError(f"{self.name} is asked for before it is published")
        return self._values[0]
