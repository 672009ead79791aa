"""Blocking aggregation: a sink that takes everything, and the source of the next pipeline that gives the groups.

Sink and source of one driver share an :class:`Aggregator` through :class:`AggregateContext`. Each driver
aggregates what it gets: where several drivers run, the planner has dealt rows out by key before (or the
result is merged after).
"""

from __future__ import annotations

from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.event import Event
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.operators.aggregator import Aggregator
from pyspark_pipeline.plan.nodes import Aggregate, Settings

GROUPS = declare_counter("groups", "Groups of an aggregation", unit="groups")


class Handover:
    """One driver's aggregator on its way from sink to source: given once, taken once."""

    def __init__(self, aggregator: Aggregator, number: int) -> None:
        self.aggregator: Aggregator | None = aggregator
        self.is_complete = False
        self.is_dropped = False
        self.changed = Event(f"aggregation {number} is complete")

    def complete(self) -> None:
        """Say that all input has been taken."""
        self.is_complete = True
        self.changed.notify()

    def drop(self) -> None:
        """Say that nobody wants the groups; the sink takes no more."""
        self.is_dropped = True
        self.aggregator = None
        self.changed.notify()


class AggregateContext:
    """The hand-overs of one aggregation by driver."""

    def __init__(self, node: Aggregate, settings: Settings) -> None:
        self.node = node
        self.settings = settings
        self._handovers: dict[int, Handover] = {}

    def handover(self, driver_sequence: int) -> Handover:
        """Give the hand-over of a driver."""
        made = self._handovers.get(driver_sequence)
        if made is None:
            made = Handover(Aggregator(self.node, self.settings), driver_sequence)
            self._handovers[driver_sequence] = made
        return made


class AggregateSinkOperator(Operator):
    """Adds every chunk to the driver's aggregator."""

    def __init__(self, handover: Handover) -> None:
        self._handover = handover
        self._finishing = False

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        context.wake_on(self._handover.changed)

    def need_input(self) -> bool:
        return not self._finishing and not self._handover.is_dropped

    def push_chunk(self, chunk: Chunk) -> None:
        aggregator = self._handover.aggregator
        if aggregator is not None:
            aggregator.add(chunk)
            self.context.memory.hold(aggregator.nbytes)

    def set_finishing(self) -> None:
        self._finishing = True
        self._handover.complete()

    def is_finished(self) -> bool:
        return self._finishing or self._handover.is_dropped

    def close(self) -> None:
        self.context.memory.hold(0)


class AggregateSourceOperator(Operator):
    """Gives the groups in the order they were first seen. Without keys that is one row, also for no input."""

    def __init__(self, handover: Handover, batch_rows: int) -> None:
        self._handover = handover
        self._batch_rows = batch_rows
        self._next = 0
        self._done = False

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        context.wake_on(self._handover.changed)

    def has_output(self) -> bool:
        return self._handover.is_complete and not self._done

    def pull_chunk(self) -> Chunk | None:
        aggregator = self._handover.aggregator
        if aggregator is None:
            self._done = True
            return None
        if self._next == 0:
            self.context.metrics.add(GROUPS, aggregator.num_groups)
            self.context.memory.hold(aggregator.nbytes)
        stop = min(self._next + self._batch_rows, aggregator.num_groups)
        chunk = aggregator.output(self._next, stop) if stop > self._next else None
        self._next = stop
        if stop == aggregator.num_groups:
            self._done = True
            self._handover.aggregator = None
        return chunk

    def is_finished(self) -> bool:
        return self._done

    def set_finished(self) -> None:
        self._done = True
        self._handover.drop()

    def close(self) -> None:
        self._handover.aggregator = None
        self.context.memory.hold(0)


class AggregateSinkFactory(OperatorFactory):
    """Makes the sinks."""

    name = "AggregateSink"

    def __init__(self, shared: AggregateContext) -> None:
        self._shared = shared

    def create(self, dop: int, driver_sequence: int) -> AggregateSinkOperator:
        return AggregateSinkOperator(self._shared.handover(driver_sequence))


class AggregateSourceFactory(OperatorFactory):
    """Makes the sources; they run with as many drivers as the sinks."""

    name = "AggregateSource"

    def __init__(self, shared: AggregateContext) -> None:
        self._shared = shared

    def create(self, dop: int, driver_sequence: int) -> AggregateSourceOperator:
        batch_rows = self._shared.settings.options["batchRows"]
        return AggregateSourceOperator(self._shared.handover(driver_sequence), batch_rows)
