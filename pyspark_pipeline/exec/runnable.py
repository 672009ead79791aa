"""What an executor runs: one fragment instance, or a group of them that share an output queue and a feed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pyspark_pipeline.exec.background import BackgroundWork
from pyspark_pipeline.exec.clock import Clocks
from pyspark_pipeline.exec.driver import Driver
from pyspark_pipeline.exec.feed import Feed
from pyspark_pipeline.exec.output_queue import OutputQueue


class Runnable(Protocol):
    """Drivers to run, once. The executor adds to the three counters."""

    feed_ns: int
    consumer_ns: int
    missed_wakeups: int

    @property
    def cancelled(self) -> bool:
        """Whether ``stop`` was called: what the drivers still give is not the whole result."""

    @property
    def output(self) -> OutputQueue:
        """The queue whose items are the result."""

    @property
    def feed(self) -> Feed | None:
        """What the caller's thread must read for the drivers."""

    @property
    def background(self) -> BackgroundWork:
        """The work that goes on outside drivers."""

    @property
    def clocks(self) -> Clocks:
        """The clocks that drivers and executor go by."""

    @property
    def drivers(self) -> Sequence[Driver]:
        """All drivers."""

    def prepare(self) -> None:
        """Prepare every operator."""

    def stop(self) -> None:
        """Ask running drivers to stop at their next move; any thread."""

    def close(self) -> list[BaseException]:
        """Cancel what is not done and release everything; give the errors of the operators. Repeatable."""

    def dump(self) -> str:
        """Describe every driver, for a query that is stuck."""
