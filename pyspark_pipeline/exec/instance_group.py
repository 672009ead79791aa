"""Several fragment instances that one executor runs together: they start at once, and end together.

The ready drivers of all of them share the executor's threads; an error in one stops all.
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
    """Runs ``instances``; what some of them push into ``output`` is the result.

    ``feed`` is what they wait for besides each other; ``background`` and ``clocks`` were given to each of them.
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
        """Ask all drivers to stop at their next move; any thread."""
        self.cancelled = True
        for instance in self.instances:
            instance.stop()

    def close(self) -> list[BaseException]:
        """Cancel what is not done in any instance, release everything; give the errors of the operators. Repeatable."""
        self.stop()
        errors = [error for instance in self.instances for error in instance.close()]
        self.output.clear()
        return errors

    def dump(self) -> str:
        """Describe every instance, and what is under way between them."""
        lines = [f"== {instance.name}\n{instance.dump()}" for instance in self.instances]
        return "\n".join([*lines, f"== between them\n{self.feed.describe()}"])
