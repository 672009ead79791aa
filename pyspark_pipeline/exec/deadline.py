"""A deadline ends a wait that may be in vain: an event that comes by itself after a time.

Drivers wait without a limit for what is sure to come. For what merely helps (a runtime filter) they wait until a
deadline at most, and subscribe to ``passed`` beside the event they hope for. A deadline that runs is background work of
the instance, done by a thread that sleeps: so executors know that a wake-up still comes, and no thread of theirs waits.
"""

from __future__ import annotations

import threading

from pyspark_pipeline.exec.background import BackgroundWork
from pyspark_pipeline.exec.event import Event
from pyspark_pipeline.memory.address_space import require_room, start_thread


class Deadline:
    """Passes ``milliseconds`` after its start, or when it is ended. Any thread may ask."""

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
        """Say whether nobody is to wait any longer."""
        return self._over.is_set()

    def start(self, background: BackgroundWork) -> None:
        """Begin; nothing happens where it has begun or passed already."""
        with self._lock:
            if self._thread is not None or self._over.is_set():
                return
            thread = threading.Thread(
                target=self._wait, args=(background,), name=f"pipeline-deadline {self.name}", daemon=True
            )
            background.started(self.name)
            try:
                require_room([thread.name])
                start_thread(thread)
            except BaseException:
                background.done(self.name)
                raise
            self._thread = thread

    def end(self) -> None:
        """Let it pass now."""
        self._over.set()

    def close(self) -> None:
        """Let it pass now; no thread is left after. Repeatable."""
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
