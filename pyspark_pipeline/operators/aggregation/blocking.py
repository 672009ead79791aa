"""Blocking aggregation: a sink that consumes all input, and the source of the next pipeline that outputs the groups.

Sink and source of one driver share a :class:`SpillingAggregator` through :class:`AggregateContext`. Each driver
aggregates its own input: with several drivers, the planner has partitioned the rows by key (or a later stage merges
the results).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

from pyspark_pipeline.exec.blocking import BlockingReason
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.event import Event, Waker
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.kernels.buffers import rows_only
from pyspark_pipeline.operators.aggregation.aggregator import AggregateProgram
from pyspark_pipeline.operators.aggregation.spill import SpillingAggregator


class AggregateBridge:
    """One driver's aggregator, passed once from the sink to the source; the last of the two to close closes it."""

    def __init__(self, aggregator: SpillingAggregator, number: int) -> None:
        self.aggregator: SpillingAggregator | None = aggregator
        self.is_complete = False
        self.is_abandoned = False
        self.changed = Event(f"aggregation {number} is complete")
        self._closed_ends = 0
        self._lock = threading.Lock()

    def complete(self) -> None:
        """Notify the source that the sink has consumed all input."""
        self.is_complete = True
        self.changed.notify()

    def abandon(self) -> None:
        """Notify the sink that the groups are no longer needed; it accepts no more input."""
        self.is_abandoned = True
        self.changed.notify()

    def close_end(self) -> None:
        """Handle the close of the sink or the source."""
        with self._lock:
            self._closed_ends += 1
            is_last = self._closed_ends == 2
        if is_last:
            self.close()

    def close(self) -> None:
        """Release the groups and their spill files; the sink is complete or closed."""
        aggregator, self.aggregator = self.aggregator, None
        if aggregator is not None:
            aggregator.close()


class AggregateContext:
    """The bridges of one aggregation, by driver."""

    def __init__(self, program: AggregateProgram) -> None:
        self._program = program
        self._bridges: dict[int, AggregateBridge] = {}

    def bridge(self, driver_sequence: int) -> AggregateBridge:
        """Return the bridge of a driver, created on first request."""
        made = self._bridges.get(driver_sequence)
        if made is None:
            made = AggregateBridge(SpillingAggregator(self._program), driver_sequence)
            self._bridges[driver_sequence] = made
        return made


class AggregateSinkOperator(Operator):
    """Adds every chunk to the driver's aggregator."""

    def __init__(self, bridge: AggregateBridge) -> None:
        self._bridge = bridge
        self._finishing = False

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        aggregator = self._bridge.aggregator
        if aggregator is not None:
            aggregator.begin(context)

    def is_blocked(self, waker: Waker) -> BlockingReason | None:
        waker.wait_for(self._bridge.changed)
        return None

    def need_input(self) -> bool:
        return not self._finishing and not self._bridge.is_abandoned

    def push_chunk(self, chunk: Chunk) -> None:
        aggregator = self._bridge.aggregator
        if aggregator is not None:
            aggregator.add(chunk, self.context)

    def reclaim(self) -> None:
        aggregator = self._bridge.aggregator
        if aggregator is not None and not self._bridge.is_abandoned:
            aggregator.reclaim(self.context)

    def set_finishing(self) -> None:
        self._finishing = True
        aggregator = self._bridge.aggregator
        if aggregator is not None and not self._bridge.is_abandoned:
            aggregator.finish(self.context)
        self._bridge.complete()

    def is_finished(self) -> bool:
        return self._finishing or self._bridge.is_abandoned

    def close(self) -> None:
        self._bridge.close_end()
        self.context.memory.reserve(0)


class AggregateSourceOperator(Operator):
    """Outputs the groups. Without keys that is one row, also for empty input."""

    def __init__(self, bridge: AggregateBridge) -> None:
        self._bridge = bridge
        self._chunks: Iterator[Chunk | None] | None = None
        self._done = False

    def has_output(self) -> bool:
        return self._bridge.is_complete and not self._done

    def is_blocked(self, waker: Waker) -> BlockingReason | None:
        waker.wait_for(self._bridge.changed)
        return None if self._bridge.is_complete else BlockingReason.PRODUCER

    def pull_chunk(self) -> Chunk | None:
        if self._chunks is None:
            aggregator = self._bridge.aggregator
            assert aggregator is not None
            self._chunks = aggregator.chunks(self.context)
        chunk = next(self._chunks, _END)
        if chunk is not _END:
            return chunk
        self._done = True
        self._bridge.close()
        return None

    def reclaim(self) -> None:
        aggregator = self._bridge.aggregator
        if aggregator is not None:
            aggregator.reclaim(self.context)

    def is_finished(self) -> bool:
        return self._done

    def set_finished(self) -> None:
        self._done = True
        self.context.memory.unregister_reclaimable()
        self._bridge.abandon()

    def close(self) -> None:
        self._chunks = None
        self._bridge.close_end()
        self.context.memory.reserve(0)


_END = rows_only(0)


class AggregateSinkFactory(OperatorFactory):
    """Makes the sinks."""

    name = "AggregateSink"

    def __init__(self, shared: AggregateContext) -> None:
        self._shared = self.shared_state = shared

    def create(self, dop: int, driver_sequence: int) -> AggregateSinkOperator:
        return AggregateSinkOperator(self._shared.bridge(driver_sequence))


class AggregateSourceFactory(OperatorFactory):
    """Makes the sources; they run with as many drivers as the sinks."""

    name = "AggregateSource"

    def __init__(self, shared: AggregateContext) -> None:
        self._shared = self.shared_state = shared

    def create(self, dop: int, driver_sequence: int) -> AggregateSourceOperator:
        return AggregateSourceOperator(self._shared.bridge(driver_sequence))
