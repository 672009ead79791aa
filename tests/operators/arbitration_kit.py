"""Two operators that buffer rows at the same time: sources with controlled timing, and the memory held meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark_pipeline.exchange import SinkFactory, StreamTransport
from pyspark_pipeline.exec.driver import Driver
from pyspark_pipeline.exec.execute import execute
from pyspark_pipeline.exec.instance import FragmentInstance
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.exec.output_queue import OutputQueue
from pyspark_pipeline.exec.states import BLOCKED
from pyspark_pipeline.memory import MemoryTracker
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.nodes import Node, ResultSink, Settings
from tests.exec.kit import Made, Source
from tests.operators.join_kit import RoundRobinBuilder, Row
from tests.operators.kit import Chunks, to_table

Opens = Callable[[int], bool]


class Timed(Source):
    """Outputs its first chunk when gate ``first`` opens for its driver, its last at ``last``; then calls ``ended``."""

    def __init__(self, given: Sequence[Chunk], driver: int, stage: Stage, leaf: str) -> None:
        super().__init__(given)
        self.count = len(given)
        self.driver = driver
        self.stage = stage
        self.leaf = leaf

    def has_output(self) -> bool:
        if not super().has_output():
            return False
        begins = len(self.left) < self.count or self.stage.may(self.leaf, "first", self.driver)
        return begins and (len(self.left) > 1 or self.stage.may(self.leaf, "last", self.driver))

    def is_finished(self) -> bool:
        if not self.left:
            self.stage.may(self.leaf, "ended", self.driver)
        return super().is_finished()


class Stage:
    """One instance of ``node``; ``gates`` decide when the "first" and "last" chunk of a named leaf are output."""

    def __init__(self, node: Node, leaves: dict[str, Chunks], dop: int) -> None:
        self.node = node
        self.leaves = leaves
        self.dop = dop
        self.gates: dict[tuple[str, str], Opens] = {}
        settings = Settings(ansi=True, time_zone="UTC", options=Options({"batchRows": "500"}))
        builder = _Timing(settings, dop=dop)
        builder.stage = self
        queue = OutputQueue(2)
        sink = SinkFactory(ResultSink(), tuple(f.type for f in node.output), settings, StreamTransport(queue))
        builder.add_pipeline([*builder.decompose(node), sink])
        self.instance = FragmentInstance(builder.pipelines, queue, memory=MemoryTracker("instance", limit=10**9))

    def may(self, leaf: str, what: str, driver: int) -> bool:
        gate = self.gates.get((leaf, what))
        return gate is None or gate(driver)

    def drivers(self, operator: str) -> list[Driver]:
        """Return the drivers with an operator of a name, or with a named leaf."""
        return [d for d in self.instance.drivers if any(slot.id.name == operator for slot in d.slots)]

    def is_quiet(self, leaf: str) -> bool:
        """Return whether every driver without the leaf is blocked."""
        others = set(self.instance.drivers) - set(self.drivers(leaf))
        return all(driver.is_done or (driver.state in BLOCKED and not driver.woken) for driver in others)

    def is_done(self, operator: str) -> bool:
        """Return whether all drivers with an operator are done."""
        return all(driver.is_done for driver in self.drivers(operator))

    def is_reclaiming(self) -> bool:
        """Return whether a driver must still reclaim memory that another operator requested."""
        return any(driver.reclaim_requested for driver in self.instance.drivers)

    def held(self, name: str) -> int:
        """Return the bytes held by trackers with a name."""
        return sum(nbytes for holder, nbytes in self.instance.memory.holders() if name in holder)

    def counted(self, operator: str, counter: str) -> int:
        """Return the sum of a counter over the operators of a name."""
        made = [o for p in self.instance.metrics()["pipelines"] for o in p["operators"] if o["name"] == operator]
        return sum(o.get("counters", {}).get(counter, 0) for o in made)

    def rows(self) -> list[Row]:
        """Run the instance; return the rows."""
        table = to_table(self.node, list(execute(self.instance, self.dop)))
        return list(zip(*(values.to_pylist() for values in table.columns), strict=True))


class _Timing(RoundRobinBuilder):
    stage: Stage

    def decompose(self, node: Node) -> list[Any]:
        names = [name for name, leaf in self.stage.leaves.items() if leaf is node]
        if not names or not isinstance(node, Chunks):
            return super().decompose(node)
        name, chunks = names[0], node.chunks
        return [Made(name, lambda driver: Timed(chunks[driver :: self.dop], driver, self.stage, name))]
