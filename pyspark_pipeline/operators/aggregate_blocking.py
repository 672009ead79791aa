"""Blocking aggregation: a sink that takes everything, and the source of the next pipeline that gives the groups.

Sink and source of one driver share a :class:`SpillingAggregator` through :class:`AggregateContext`. Each driver
aggregates what it gets: where several drivers run, the planner has dealt rows out by key before (or the
result is merged after).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

from pyspark_pipeline.exec.blocking import BlockingReason
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.event import Event
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.kernels.buffers import rows_only
from pyspark_pipeline.operators.aggregate_spill import SpillingAggregator
from pyspark_pipeline.plan.nodes import Aggregate, Settings


class Handover:
    """One driver's aggregator on its way from sink to source: given once, taken once, closed by who leaves last."""

    def __init__(self, aggregator: SpillingAggregator, number: int) -> None:
        self.aggregator: SpillingAggregator | None = aggregator
        self.is_complete = False
        self.is_dropped = False
        self.changed = Event(f"aggregation {number} is complete")
        self._left = 0
        self._lock = threading.Lock()

    def complete(self) -> None:
        """Say that all input has been taken."""
        self.is_complete = True
        self.changed.notify()

    def drop(self) -> None:
        """Say that nobody wants the groups; the sink takes no more."""
        self.is_dropped = True
        self.changed.notify()

    def leave(self) -> None:
        """Learn that the sink, or the source, is closed."""
        with self._lock:
            self._left += 1
            is_last = self._left == 2
        if is_last:
            self.close()

    def close(self) -> None:
        """Drop the groups, and the files with groups; the sink is complete or closed."""
        aggregator, self.aggregator = self.aggregator, None
        if aggregator is not None:
            aggregator.close()


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
            made = Handover(SpillingAggregator(self.node, self.settings), driver_sequence)
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
        aggregator = self._handover.aggregator
        if aggregator is not None:
            aggregator.begin(context)

    def need_input(self) -> bool:
        return not self._finishing and not self._handover.is_dropped

    def push_chunk(self, chunk: Chunk) -> None:
        aggregator = self._handover.aggregator
        if aggregator is not None:
            aggregator.add(chunk, self.context)

    def revoke(self) -> None:
        aggregator = self._handover.aggregator
        if aggregator is not None and not self._handover.is_dropped:
            aggregator.revoke(self.context)

    def set_finishing(self) -> None:
        self._finishing = True
        aggregator = self._handover.aggregator
        if aggregator is not None and not self._handover.is_dropped:
            aggregator.finish(self.context)
        self._handover.complete()

    def is_finished(self) -> bool:
        return self._finishing or self._handover.is_dropped

    def close(self) -> None:
        self._handover.leave()
        self.context.memory.hold(0)


class AggregateSourceOperator(Operator):
    """Gives the groups. Without keys that is one row, also for no input."""

    def __init__(self, handover: Handover) -> None:
        self._handover = handover
        self._chunks: Iterator[Chunk | None] | None = None
        self._done = False

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        context.wake_on(self._handover.changed)

    def has_output(self) -> bool:
        return self._handover.is_complete and not self._done

    def blocking_reason(self) -> BlockingReason:
        return BlockingReason.PRODUCER

    def pull_chunk(self) -> Chunk | None:
        if self._chunks is None:
            aggregator = self._handover.aggregator
            assert aggregator is not None
            self._chunks = aggregator.chunks(self.context)
        chunk = next(self._chunks, _END)
        if chunk is not _END:
            return chunk
        self._done = True
        self._handover.close()
        return None

    def revoke(self) -> None:
        aggregator = self._handover.aggregator
        if aggregator is not None:
            aggregator.revoke(self.context)

    def is_finished(self) -> bool:
        return self._done

    def set_finished(self) -> None:
        self._done = True
        self.context.memory.withdraw()
        self._handover.drop()

    def close(self) -> None:
        self._chunks = None
        self._handover.leave()
        self.context.memory.hold(0)


_END = rows_only(0)


class AggregateSinkFactory(OperatorFactory):
    """Makes the sinks."""

    name = "AggregateSink"

    def __init__(self, shared: AggregateContext) -> None:
        self._shared = self.meeting_place = shared

    def create(self, dop: int, driver_sequence: int) -> AggregateSinkOperator:
        return AggregateSinkOperator(self._shared.handover(driver_sequence))


class AggregateSourceFactory(OperatorFactory):
    """Makes the sources; they run with as many drivers as the sinks."""

    name = "AggregateSource"

    def __init__(self, shared: AggregateContext) -> None:
        self._shared = self.meeting_place = shared

    def create(self, dop: int, driver_sequence: int) -> AggregateSourceOperator:
        return AggregateSourceOperator(self._shared.handover(driver_sequence))
