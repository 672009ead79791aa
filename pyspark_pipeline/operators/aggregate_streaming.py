"""Streaming partial aggregation: reduces while that pays, else lets rows pass in the form of buffers.

After ``aggregate.passThroughRows`` rows it looks at groups per hundred rows; from
``aggregate.passThroughRatio`` on, the groups so far are flushed and every further row becomes a group of its
own. A table that outgrows its memory, or would with the next chunk, is flushed, looked at in the same way, and begun
anew. Either way the later stage merges.
"""

from __future__ import annotations

from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.kernels.buffers import count_nulls
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.operators import spill_partitions
from pyspark_pipeline.operators.aggregator import NULL_KEYS, Aggregator
from pyspark_pipeline.plan.nodes import Aggregate, Settings

FLUSHES = declare_counter("partial_flushes", "Times a partial aggregation gave its groups and began anew", unit="times")
PASSED = declare_counter("rows_passed_through", "Rows that a partial aggregation did not reduce", unit="rows")

_MOST_BYTES = 256 << 20


class StreamingAggregateOperator(Operator):
    """Partial aggregation with keys, in the middle of a pipeline."""

    def __init__(self, node: Aggregate, settings: Settings) -> None:
        options = settings.options
        self._node = node
        self._settings = settings
        self._batch_rows = options["batchRows"]
        self._decide_at = options["aggregate.passThroughRows"]
        self._ratio = options["aggregate.passThroughRatio"]
        self._aggregator = Aggregator(node, settings)
        self._flushing: Aggregator | None = None
        self._next = 0
        self._passed: Chunk | None = None
        self._passes = False
        self._decided = False
        self._finishing = False

    def need_input(self) -> bool:
        return not self._finishing and self._flushing is None and self._passed is None

    def push_chunk(self, chunk: Chunk) -> None:
        if not self._passes and self._is_too_large(self._aggregator.nbytes_with(chunk.num_rows)):
            self._flush()
        if self._passes:  # maybe since just now: then the groups leave first
            self._passed = passed = self._aggregator.convert(chunk)
            self.context.metrics.add(PASSED, chunk.num_rows)
            self.context.metrics.add(NULL_KEYS, count_nulls(passed.columns[: len(self._node.grouping)]))
            return
        self.context.metrics.add(NULL_KEYS, self._aggregator.add(chunk))
        too_large = self._is_too_large(self._aggregator.nbytes)
        if self._flushing is not None:
            return
        if too_large:
            self._flush()
        elif not self._decided and self._aggregator.rows >= self._decide_at:
            self._decided = True
            if self._reduces_too_little():
                self._flush()

    def _is_too_large(self, nbytes: int) -> bool:
        """Count the bytes of the table, and say whether the ``nbytes`` it needs are too many, where it is not small."""
        waiting = 0 if self._flushing is None else self._flushing.nbytes
        if nbytes <= _MOST_BYTES and self.context.memory.try_hold(nbytes + waiting, may_ask=False):
            return False
        held = self._aggregator.nbytes
        self.context.memory.force(held + waiting)
        return self._flushing is None and held >= min(spill_partitions.LEAST_BYTES, _MOST_BYTES)

    def _reduces_too_little(self) -> bool:
        """Judge the groups so far, where there are enough rows to judge by."""
        rows = self._aggregator.rows
        return bool(rows >= self._decide_at and self._aggregator.num_groups * 100 >= self._ratio * rows)

    def _flush(self) -> None:
        """Begin to give the groups so far; go on with an empty aggregator."""
        self.context.metrics.add(FLUSHES)
        self._passes = self._passes or self._reduces_too_little()
        self._flushing = self._aggregator
        self._next = 0
        self._aggregator = Aggregator(self._node, self._settings)
        self._flushing_done()

    def _flushing_done(self) -> None:
        if self._flushing is not None and self._next >= self._flushing.num_groups:
            self._flushing = None
            self.context.memory.force(self._aggregator.nbytes if self._aggregator.num_groups else 0)
            if self._finishing and self._aggregator.num_groups:
                self._flush()

    def has_output(self) -> bool:
        return self._passed is not None or self._flushing is not None

    def pull_chunk(self) -> Chunk | None:
        if self._flushing is None:
            passed, self._passed = self._passed, None
            return passed
        stop = min(self._next + self._batch_rows, self._flushing.num_groups)
        chunk = self._flushing.output(self._next, stop)
        self._next = stop
        self._flushing_done()
        return chunk

    def set_finishing(self) -> None:
        self._finishing = True
        if self._flushing is None and self._aggregator.num_groups:
            self._flush()

    def is_finished(self) -> bool:
        return self._finishing and not self.has_output()

    def set_finished(self) -> None:
        self._finishing = True
        self._flushing = None
        self._passed = None

    def close(self) -> None:
        self._flushing = None
        self._passed = None
        self.context.memory.hold(0)


class StreamingAggregateFactory(OperatorFactory):
    """Makes partial aggregations; every driver has its own groups."""

    name = "StreamingAggregate"

    def __init__(self, node: Aggregate, settings: Settings) -> None:
        self._node = node
        self._settings = settings

    def create(self, dop: int, driver_sequence: int) -> StreamingAggregateOperator:
        return StreamingAggregateOperator(self._node, self._settings)
