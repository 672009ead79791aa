"""The task's input stream: read by the caller's thread only, and only when the drivers need it.

A task has one input stream, which serves one or more sources. Reading it may block (Spark decides), so no operator
reads it: the executor does, on its caller's thread, and dispatches each item to its source. It reads when a source has
capacity, and also when nothing else can run: a driver that waits for another input's rows must get them, even if that
fills a source's queue beyond its bound. That rule, not the bound, keeps one stream for many inputs free of deadlock.
Items that are due, so that reading never blocks, are read between two drivers: the output of one driver reaches the
others before it sends more.
"""

from __future__ import annotations

from typing import Protocol

from pyspark_pipeline.exec.event import Event


class Feed(Protocol):
    """The input stream as executors see it; ``wanted`` is notified when a source gets capacity."""

    @property
    def wanted(self) -> Event:
        """The event notified when ``wants_input`` may have become True."""

    def is_due(self) -> bool:
        """Return whether ``pump`` would not block: one-thread executors then read, also while drivers are ready."""

    def wants_input(self) -> bool:
        """Return whether a source has capacity for another item (cheap); False after the end of the stream."""

    def is_ended(self) -> bool:
        """Return whether the stream has ended and every source is notified."""

    def pump(self) -> None:
        """Read the next item, dispatch it to its source and notify; at the end, end the sources. May block on Spark."""

    def break_deadlock(self) -> bool:
        """Admit items withheld over a bound, since nothing else can run; return whether there were any."""

    def describe(self) -> str:
        """Describe the buffered items of each source, for a dump."""
