"""Sort: every driver's sink sorts what it gets, one source gives the rows of all in order (a local merge).

Behind an ordered exchange the rows of each sender come sorted: the sinks but keep the senders' runs (merge exchange).

The sinks hand their runs to the source through :class:`SortContext`. Several drivers sort in parallel; their
runs are merged by the source of driver 0, the other sources give nothing, so that order survives above. Where
rows were dealt out by key and only those of a driver must be in order (:class:`DealtSort`), each has its own.
"""

from __future__ import annotations

import threading
from functools import partial

from pyspark_pipeline.exec.blocking import BlockingReason
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.event import Event
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.expressions.row_order import RowOrder
from pyspark_pipeline.memory import Revocable
from pyspark_pipeline.operators import spill_partitions
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.sort_collect import RunCollector
from pyspark_pipeline.operators.sort_runs import RunMerge
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.sorts import Sort


class SortContext:
    """The runs of one sort on their way from the sinks to the source: given once by each sink, taken once."""

    def __init__(self, node: Sort, settings: Settings) -> None:
        self.keys = node.keys
        self.settings = settings
        self.gets_runs = node.gets_runs
        self.batch_rows: int = settings.options["batchRows"]
        self.is_dropped = False
        self.changed = Event("sort is complete")
        self._waiting: set[int] = set()
        self._collectors: dict[int, RunCollector] = {}
        self._is_closed = False
        self._lock = threading.Lock()
        RowOrder(self.keys, settings)  # refuses what it cannot run before anything runs

    def order(self) -> RowOrder:
        """Make an evaluator of the keys; each driver has its own."""
        return RowOrder(self.keys, self.settings)

    def add_sink(self, driver_sequence: int) -> None:
        """Register a sink; all do before anything runs."""
        self._waiting.add(driver_sequence)

    def complete(self, driver_sequence: int, collector: RunCollector) -> None:
        """Take the runs of a driver that has got all its input."""
        with self._lock:
            self._collectors[driver_sequence] = collector
            self._waiting.discard(driver_sequence)
            if self._is_closed:
                collector.close()
        self.changed.notify()

    @property
    def is_complete(self) -> bool:
        """Whether every sink has given its runs."""
        return not self._waiting

    def collectors(self) -> list[RunCollector]:
        """Give what was handed over, by driver."""
        return [self._collectors[driver] for driver in sorted(self._collectors)]

    def close(self) -> None:
        """Drop the runs, also those that are handed over later. Repeatable."""
        with self._lock:
            self._is_closed = True
            for collector in self._collectors.values():
                collector.close()

    def drop(self) -> None:
        """Say that nobody wants the rows; the sinks take no more."""
        self.is_dropped = True
        self.changed.notify()

    def of(self, driver_sequence: int) -> SortContext:
        """Give what the sink and the source of a driver share."""
        return self

    def gives(self, driver_sequence: int) -> bool:
        """Whether the source of this driver gives rows."""
        return driver_sequence == 0


class DealtSort:
    """Sorts of the rows of one driver each: what was dealt out by key stays apart."""

    def __init__(self, node: Sort, settings: Settings) -> None:
        self._make = partial(SortContext, node, settings)
        self._contexts = {0: self._make()}

    def of(self, driver_sequence: int) -> SortContext:
        """Give what the sink and the source of a driver share."""
        if driver_sequence not in self._contexts:
            self._contexts[driver_sequence] = self._make()
        return self._contexts[driver_sequence]

    def gives(self, driver_sequence: int) -> bool:
        """Every source gives its driver's rows."""
        return True


class SortSinkOperator(Operator):
    """Collects chunks into runs; sorts when the last has come, or earlier where memory is short."""

    def __init__(self, shared: SortContext, driver_sequence: int) -> None:
        self._shared = shared
        self._driver = driver_sequence
        self._collector: RunCollector | None = None
        self._finishing = False
        shared.add_sink(driver_sequence)

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        context.wake_on(self._shared.changed)
        self._collector = RunCollector(
            self._shared.order(), self._shared.batch_rows, context, gets_runs=self._shared.gets_runs
        )
        context.offer(Revocable(spill_partitions.LEAST_BYTES))

    def need_input(self) -> bool:
        return not self._finishing and not self._shared.is_dropped

    def push_chunk(self, chunk: Chunk) -> None:
        if self._collector is not None:
            self._collector.add(chunk)

    def revoke(self) -> None:
        if self._collector is not None:
            self._collector.spill()

    def set_finishing(self) -> None:
        self._finishing = True
        was_asked = self.context.withdraw()
        collector = self._collector
        if collector is None:
            return
        if self._shared.is_dropped:
            collector.close()
        else:
            if was_asked:
                collector.spill()
            collector.finish()
        self._collector = None
        self._shared.complete(self._driver, collector)

    def is_finished(self) -> bool:
        return self._finishing or self._shared.is_dropped

    def close(self) -> None:
        if self._collector is not None:
            self._collector.close()


class SortSourceOperator(Operator):
    """Gives all rows of its sort in order where it ``gives``, else nothing."""

    def __init__(self, shared: SortContext, *, gives: bool) -> None:
        self._shared = shared
        self._merged: RunMerge | None = None
        self._gives = gives
        self._done = not gives

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        context.wake_on(self._shared.changed)

    def has_output(self) -> bool:
        return not self._done and self._shared.is_complete

    def blocking_reason(self) -> BlockingReason:
        return BlockingReason.PRODUCER

    def pull_chunk(self) -> Chunk | None:
        if self._merged is None:
            runs = [run for collector in self._shared.collectors() for run in collector.runs]
            self._merged = RunMerge(runs, self._shared.order(), self._shared.batch_rows)
        chunk = self._merged.next_chunk()
        self.context.memory.force(self._merged.nbytes)
        if chunk is None:
            self._done = True
            self._release()
        return chunk

    def is_finished(self) -> bool:
        return self._done

    def set_finished(self) -> None:
        if not self._done:
            self._done = True
            self._shared.drop()

    def close(self) -> None:
        if self._gives:
            self._release()

    def _release(self) -> None:
        self.context.memory.hold(0)
        if self._merged is not None:
            self._merged.close()
        self._shared.close()


class SortSinkFactory(OperatorFactory):
    """Makes the sinks."""

    name = "SortSink"

    def __init__(self, shared: SortContext | DealtSort) -> None:
        self._shared = self.meeting_place = shared

    def create(self, dop: int, driver_sequence: int) -> SortSinkOperator:
        return SortSinkOperator(self._shared.of(driver_sequence), driver_sequence)


class SortSourceFactory(OperatorFactory):
    """Makes the sources; they run with as many drivers as the sinks."""

    name = "SortSource"

    def __init__(self, shared: SortContext | DealtSort) -> None:
        self._shared = self.meeting_place = shared

    def create(self, dop: int, driver_sequence: int) -> SortSourceOperator:
        return SortSourceOperator(self._shared.of(driver_sequence), gives=self._shared.gives(driver_sequence))


@implements(Sort, execs=["SortExec"], pipeline=["SortSink", "SortSource"])
def decompose_sort(node: Sort, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Close the child's pipeline with a sink, start one with the source."""
    below = builder.fit(builder.decompose(node.child))
    return cut_at_sort(SortContext(node, builder.settings), below, builder)


def cut_at_sort(
    shared: SortContext | DealtSort, below: list[OperatorFactory], builder: PipelineBuilder
) -> list[OperatorFactory]:
    """Close the pipeline ``below`` with a sink, start one with the source."""
    return builder.cut(below, SortSinkFactory(shared), SortSourceFactory(shared))
