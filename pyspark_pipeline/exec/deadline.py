"""A deadline bounds an optional wait: an event that is notified after a given time.

Drivers wait without limit for state that is certain to come. For optional state (a runtime filter) they wait until a
deadline at most, and subscribe to ``passed`` besides the event of that state. A running deadline is background work of
the instance, on a sleeping thread of its own: so executors know that a wake-up still comes, and none of their threads
waits.
"""

from __future__ import annotations

import threading

from pyspark_pipeline.exec.background import BackgroundWork
from pyspark_pipeline.exec.event import Event
from pyspark_pipeline.memory.address_space import require_address_space, start_thread


class Deadline:
    """Passes ``milliseconds`` after its start, or when it is ended early. Thread-safe."""

    __slots__ = ("name", "passed", "_seconds", "_over", "_thread", "_lock")

    def __init__(self, name: str, milliseconds: int) -> None:
        self.name = name
        self.passed = Event(f"{name}: the time is up")
        self._seconds = milliseconds / 1000
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        if not milliseconds:
            self._over.set()

    def is_passed(self) -> bool:
        """Return whether the deadline has passed."""
        return self._over.is_set()

    def start(self, background: BackgroundWork) -> None:
        """Start the thread; no effect if the deadline has started or passed."""
        with self._lock:
            if self._thread is not None or self._over.is_set():
                return
            thread = threading.Thread(
                target=self._wait, args=(background,), name=f"pipeline-deadline {self.name}", daemon=True
            )
            background.started(self.name)
            try:
                require_address_space([thread.name])
                start_thread(thread)
            except BaseException:
                background.done(self.name)
                raise
            self._thread = thread

    def end(self) -> None:
        """Make the deadline pass now."""
        self._over.set()

    def close(self) -> None:
        """Make the deadline pass now and join its thread. Idempotent."""
        self._over.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _wait(self, background: BackgroundWork) -> None:
        self._over.wait(self._seconds)
        self._over.set()
        self.passed.notify()
        background.done(self.name)
