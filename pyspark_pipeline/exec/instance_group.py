"""A group of fragment instances that one executor runs: they start and end together.

Their ready drivers share the executor's threads; an error in one instance stops all.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark_pipeline.exec.background import BackgroundWork
from pyspark_pipeline.exec.clock import REAL, Clocks
from pyspark_pipeline.exec.driver import Driver
from pyspark_pipeline.exec.feed import Feed
from pyspark_pipeline.exec.instance import FragmentInstance
from pyspark_pipeline.exec.output_queue import OutputQueue


class InstanceGroup:
    """Runs ``instances``; the items that some of them push into ``output`` are the result.

    ``feed`` is their common input stream; each of them was created with ``background`` and ``clocks``.
    """

    def __init__(
        self,
        instances: Sequence[FragmentInstance],
        output: OutputQueue,
        feed: Feed,
        background: BackgroundWork,
        clocks: Clocks = REAL,
    ) -> None:
        self.instances = tuple(instances)
        self.output = output
        self.feed = feed
        self.background = background
        self.clocks = clocks
        self.drivers: list[Driver] = [driver for instance in instances for driver in instance.drivers]
        self.cancelled = False
        self.feed_ns = 0
        self.consumer_ns = 0
        self.missed_wakeups = 0

    def prepare(self) -> None:
        """Prepare every operator of every instance."""
        for instance in self.instances:
            instance.prepare()

    def stop(self) -> None:
        """Make all drivers stop at their next move. Thread-safe."""
        self.cancelled = True
        for instance in self.instances:
            instance.stop()

    def close(self) -> list[BaseException]:
        """Cancel all unfinished drivers and release everything; return the operators' errors. Idempotent."""
        self.stop()
        errors = [error for instance in self.instances for error in instance.close()]
        self.output.clear()
        return errors

    def dump(self) -> str:
        """Describe every instance and the data in transit between them."""
        lines = [f"== {instance.name}\n{instance.dump()}" for instance in self.instances]
        return "\n".join([*lines, f"== between them\n{self.feed.describe()}"])
