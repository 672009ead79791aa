"""Sort: every driver's sink sorts its input, and one source merges all rows in order (a local merge).

After an ordered exchange the rows of each sender arrive sorted: the sinks only keep the senders' runs (merge exchange).

The sinks pass their runs to the source through :class:`SortContext`. Several drivers sort in parallel; the source of
driver 0 merges their runs and the other sources output nothing, so that the order is kept downstream. If the rows are
partitioned by key and only the rows of a driver must be in order, each driver sorts alone (:class:`PartitionedSort`).
"""

from __future__ import annotations

import threading
from functools import partial

from pyspark_pipeline.exec.blocking import BlockingReason
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.event import Event, Waker
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.expressions.row_order import RowOrder
from pyspark_pipeline.memory import Reclaimable
from pyspark_pipeline.operators import spill_partitions
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.sorting.collect import RunCollector
from pyspark_pipeline.operators.sorting.runs import RunMerge
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.sorts import Sort


class SortContext:
    """The bridge between the sinks and the source of one sort: each sink passes its runs once."""

    def __init__(self, node: Sort, settings: Settings) -> None:
        self.keys = node.keys
        self.settings = settings
        self.input_presorted = node.input_presorted
        self.batch_rows: int = settings.options.batch_rows
        self.is_abandoned = False
        self.changed = Event("sort is complete")
        self._waiting: set[int] = set()
        self._collectors: dict[int, RunCollector] = {}
        self._is_closed = False
        self._lock = threading.Lock()
        self.order = RowOrder(self.keys, settings)

    def add_sink(self, driver_sequence: int) -> None:
        """Register a sink; all sinks register before execution starts."""
        self._waiting.add(driver_sequence)

    def complete(self, driver_sequence: int, collector: RunCollector) -> None:
        """Accept the runs of a driver that has consumed all its input."""
        with self._lock:
            self._collectors[driver_sequence] = collector
            self._waiting.discard(driver_sequence)
            if self._is_closed:
                collector.close()
        self.changed.notify()

    @property
    def is_complete(self) -> bool:
        """Whether every sink has passed its runs."""
        return not self._waiting

    def collectors(self) -> list[RunCollector]:
        """Return the sinks' collectors, ordered by driver."""
        return [self._collectors[driver] for driver in sorted(self._collectors)]

    def close(self) -> None:
        """Release the runs, also those that are passed later. Repeatable."""
        with self._lock:
            self._is_closed = True
            for collector in self._collectors.values():
                collector.close()

    def abandon(self) -> None:
        """Notify the sinks that the rows are no longer needed; they accept no more input."""
        self.is_abandoned = True
        self.changed.notify()

    def of(self, driver_sequence: int) -> SortContext:
        """Return the context that the sink and the source of a driver share."""
        return self

    def emits_rows(self, driver_sequence: int) -> bool:
        """Return whether the source of this driver outputs rows."""
        return driver_sequence == 0


class PartitionedSort:
    """One sort for each driver, for rows partitioned by key."""

    def __init__(self, node: Sort, settings: Settings) -> None:
        self._make = partial(SortContext, node, settings)
        self._contexts = {0: self._make()}

    def of(self, driver_sequence: int) -> SortContext:
        """Return the context that the sink and the source of a driver share."""
        if driver_sequence not in self._contexts:
            self._contexts[driver_sequence] = self._make()
        return self._contexts[driver_sequence]

    def emits_rows(self, driver_sequence: int) -> bool:
        """Return true: every source outputs its driver's rows."""
        return True


class SortSinkOperator(Operator):
    """Collects chunks into runs; sorts at the end of the input, or earlier if memory is short."""

    def __init__(self, shared: SortContext, driver_sequence: int) -> None:
        self._shared = shared
        self._driver = driver_sequence
        self._collector: RunCollector | None = None
        self._finishing = False
        shared.add_sink(driver_sequence)

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        self._collector = RunCollector(
            self._shared.order, self._shared.batch_rows, context, input_presorted=self._shared.input_presorted
        )
        context.register_reclaimable(Reclaimable(spill_partitions.MIN_SPILL_BYTES))

    def is_blocked(self, waker: Waker) -> BlockingReason | None:
        waker.wait_for(self._shared.changed)
        return None

    def need_input(self) -> bool:
        return not self._finishing and not self._shared.is_abandoned

    def push_chunk(self, chunk: Chunk) -> None:
        if self._collector is not None:
            self._collector.add(chunk)

    def reclaim(self) -> None:
        if self._collector is not None:
            self._collector.spill()

    def set_finishing(self) -> None:
        self._finishing = True
        was_asked = self.context.unregister_reclaimable()
        collector = self._collector
        if collector is None:
            return
        if self._shared.is_abandoned:
            collector.close()
        else:
            if was_asked:
                collector.spill()
            collector.finish()
        self._collector = None
        self._shared.complete(self._driver, collector)

    def is_finished(self) -> bool:
        return self._finishing or self._shared.is_abandoned

    def close(self) -> None:
        if self._collector is not None:
            self._collector.close()


class SortSourceOperator(Operator):
    """Outputs all rows of its sort in order if ``emits_rows``, else nothing."""

    def __init__(self, shared: SortContext, *, emits_rows: bool) -> None:
        self._shared = shared
        self._merged: RunMerge | None = None
        self._emits_rows = emits_rows
        self._done = not emits_rows

    def has_output(self) -> bool:
        return not self._done and self._shared.is_complete

    def is_blocked(self, waker: Waker) -> BlockingReason | None:
        waker.wait_for(self._shared.changed)
        return None if self._shared.is_complete else BlockingReason.PRODUCER

    def pull_chunk(self) -> Chunk | None:
        if self._merged is None:
            runs = [run for collector in self._shared.collectors() for run in collector.runs]
            self._merged = RunMerge(runs, self._shared.order, self._shared.batch_rows)
        chunk = self._merged.next_chunk()
        self.context.memory.reserve_unchecked(self._merged.nbytes)
        if chunk is None:
            self._done = True
            self._release()
        return chunk

    def is_finished(self) -> bool:
        return self._done

    def set_finished(self) -> None:
        if not self._done:
            self._done = True
            self._shared.abandon()

    def close(self) -> None:
        if self._emits_rows:
            self._release()

    def _release(self) -> None:
        self.context.memory.reserve(0)
        if self._merged is not None:
            self._merged.close()
        self._shared.close()


class SortSinkFactory(OperatorFactory):
    """Makes the sinks."""

    name = "SortSink"

    def __init__(self, shared: SortContext | PartitionedSort) -> None:
        self._shared = self.shared_state = shared

    def create(self, dop: int, driver_sequence: int) -> SortSinkOperator:
        return SortSinkOperator(self._shared.of(driver_sequence), driver_sequence)


class SortSourceFactory(OperatorFactory):
    """Makes the sources; they run with as many drivers as the sinks."""

    name = "SortSource"

    def __init__(self, shared: SortContext | PartitionedSort) -> None:
        self._shared = self.shared_state = shared

    def create(self, dop: int, driver_sequence: int) -> SortSourceOperator:
        return SortSourceOperator(self._shared.of(driver_sequence), emits_rows=self._shared.emits_rows(driver_sequence))


@implements(Sort, execs=["SortExec"], pipeline=["SortSink", "SortSource"])
def decompose_sort(node: Sort, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Close the child's pipeline with a sink, start one with the source."""
    below = builder.adapt_parallelism(builder.decompose(node.child))
    return break_at_sort(SortContext(node, builder.settings), below, builder)


def break_at_sort(
    shared: SortContext | PartitionedSort, below: list[OperatorFactory], builder: PipelineBuilder
) -> list[OperatorFactory]:
    """Close the pipeline ``below`` with a sink, start one with the source."""
    return builder.break_pipeline(below, SortSinkFactory(shared), SortSourceFactory(shared))
