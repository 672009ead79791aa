"""What one build driver has taken: in memory, or on disk where that is too much."""

from __future__ import annotations

from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.operators import spill_partitions
from pyspark_pipeline.operators.joins.build_side import BuildCollector
from pyspark_pipeline.operators.joins.spill import JoinSpill
from pyspark_pipeline.operators.spill_partitions import SpillPartitions, first_columns


class BuildPart:
    """A collector that puts its rows aside once the join spills. ``spill`` None: this join cannot."""

    def __init__(self, collector: BuildCollector, spill: JoinSpill | None) -> None:
        self.collector = collector
        self.partitions: SpillPartitions | None = None
        self.rows = 0
        self._spill = spill

    def add(self, chunk: Chunk, context: OperatorContext) -> None:
        """Take a chunk. Raises :class:`ResourceExhaustedError` where memory is short and this join cannot spill."""
        self.collector.add(chunk)
        self.rows += chunk.num_rows
        spill, nbytes = self._spill, self.collector.nbytes
        if spill is None:
            context.memory.hold(nbytes)
        elif spill.is_on:
            self._put_aside(context)
        elif not context.memory.try_hold(nbytes):
            if nbytes < spill_partitions.LEAST_BYTES:
                context.memory.force(nbytes)
            else:
                spill.is_on = True
                self._put_aside(context)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.collector.nbytes + (self.partitions.nbytes if self.partitions is not None else 0)

    def flush(self, context: OperatorContext) -> None:
        """Write everything that is in memory."""
        self._dealt_out(context).flush(context.memory)

    def finish(self, context: OperatorContext) -> SpillPartitions:
        """Put aside what is left; give the partitions."""
        partitions = self._dealt_out(context)
        partitions.finish(context)
        return partitions

    def close(self) -> None:
        """Drop everything. Repeatable."""
        self.collector.clear()
        if self.partitions is not None:
            self.partitions.close()

    def _put_aside(self, context: OperatorContext) -> None:
        context.memory.force(self._dealt_out(context).nbytes)

    def _dealt_out(self, context: OperatorContext) -> SpillPartitions:
        """Deal out the rows that are in memory; the last may wait for more before they are written."""
        if self.partitions is None:
            self.partitions = SpillPartitions(0, first_columns(len(self.collector.key_types)), context.spill)
        for chunk in self.collector.drain():
            self.partitions.add(chunk, context.memory)
        return self.partitions
