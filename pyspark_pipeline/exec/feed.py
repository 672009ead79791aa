"""The task's input stream: read by the caller's thread only, and only when the drivers need it.

A task has one input stream and possibly several sources behind it. Reading it may wait (Spark decides),
so no operator reads it: the executor does, on the thread that called it, and hands each item to the
source it is for. It reads when a source has room, and also when nothing else can run: whoever waits for
another input's rows must get them, even if that fills a source's queue beyond its bound. That rule, and
not the bound, is what makes one stream for many inputs free of deadlock. What is due, so that
reading it never waits, is read between two drivers: what one sent reaches the others before it sends more.
"""

from __future__ import annotations

from typing import Protocol

from pyspark_pipeline.exec.event import Event


class Feed(Protocol):
    """What an executor needs to know of the input stream; ``wanted`` is notified when a source gets room."""

    @property
    def wanted(self) -> Event:
        """The event that ``wants_input`` may have become true."""

    def is_due(self) -> bool:
        """Say whether ``pump`` would wait for nothing: one thread reads then, also while drivers are ready."""

    def wants_input(self) -> bool:
        """Say whether a source has room for another item (cheap); False once the stream has ended."""

    def is_ended(self) -> bool:
        """Say whether the stream has ended and every source knows."""

    def pump(self) -> None:
        """Read what comes next, give it to its source and notify; at the end tell the sources. May wait for Spark."""

    def relieve(self) -> bool:
        """Let in what is held back over a bound, as nothing else can ever run; say whether there was anything."""

    def describe(self) -> str:
        """Tell what each source holds, for a dump."""
