"""The unit that an executor runs: a fragment instance, or a group of them that share an output queue and a feed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pyspark_pipeline.exec.background import BackgroundWork
from pyspark_pipeline.exec.clock import Clocks
from pyspark_pipeline.exec.driver import Driver
from pyspark_pipeline.exec.feed import Feed
from pyspark_pipeline.exec.output_queue import OutputQueue


class Runnable(Protocol):
    """Drivers to run, once. The executor updates the three counters."""

    feed_ns: int
    consumer_ns: int
    missed_wakeups: int

    @property
    def cancelled(self) -> bool:
        """True if ``stop`` was called: the output is then incomplete."""

    @property
    def output(self) -> OutputQueue:
        """The queue whose items are the result."""

    @property
    def feed(self) -> Feed | None:
        """The input stream that the caller's thread reads for the drivers, if any."""

    @property
    def background(self) -> BackgroundWork:
        """The tasks that run outside drivers."""

    @property
    def clocks(self) -> Clocks:
        """The clocks of drivers and executor."""

    @property
    def drivers(self) -> Sequence[Driver]:
        """All drivers."""

    def prepare(self) -> None:
        """Prepare every operator."""

    def stop(self) -> None:
        """Make running drivers stop at their next move. Thread-safe."""

    def close(self) -> list[BaseException]:
        """Cancel all unfinished drivers and release everything; return the operators' errors. Idempotent."""

    def dump(self) -> str:
        """Describe every driver, for a hung query."""
