"""The build rows of one driver, in memory or spilled."""

from __future__ import annotations

from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.operators import spill_partitions
from pyspark_pipeline.operators.joins.build_side import BuildCollector
from pyspark_pipeline.operators.joins.spill import JoinSpill
from pyspark_pipeline.operators.spill_partitions import SpillPartitions, first_columns


class LocalBuild:
    """A collector that spills its rows once the join spills. ``spill`` None: this join cannot spill."""

    def __init__(self, collector: BuildCollector, spill: JoinSpill | None) -> None:
        self.collector = collector
        self.partitions: SpillPartitions | None = None
        self.rows = 0
        self._spill = spill

    def add(self, chunk: Chunk, context: OperatorContext) -> None:
        """Add a chunk. Raises :class:`ResourceExhaustedError` if memory is short and this join cannot spill."""
        self.collector.add(chunk)
        self.rows += chunk.num_rows
        spill, nbytes = self._spill, self.collector.nbytes
        if spill is None:
            context.memory.reserve(nbytes)
        elif spill.is_spilling:
            self._spill_rows(context)
        elif not context.memory.try_reserve(nbytes):
            if nbytes < spill_partitions.MIN_SPILL_BYTES:
                context.memory.reserve_unchecked(nbytes)
            else:
                spill.is_spilling = True
                self._spill_rows(context)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.collector.nbytes + (self.partitions.nbytes if self.partitions is not None else 0)

    def flush(self, context: OperatorContext) -> None:
        """Spill all rows in memory."""
        self._move_to_partitions(context).flush(context.memory)

    def finish(self, context: OperatorContext) -> SpillPartitions:
        """Spill the remaining rows; return the partitions."""
        partitions = self._move_to_partitions(context)
        partitions.finish(context)
        return partitions

    def close(self) -> None:
        """Release the rows and files. Idempotent."""
        self.collector.clear()
        if self.partitions is not None:
            self.partitions.close()

    def _spill_rows(self, context: OperatorContext) -> None:
        context.memory.reserve_unchecked(self._move_to_partitions(context).nbytes)

    def _move_to_partitions(self, context: OperatorContext) -> SpillPartitions:
        """Move the rows in memory to the spill partitions, which may buffer the last ones before writing."""
        if self.partitions is None:
            self.partitions = SpillPartitions(0, first_columns(len(self.collector.key_types)), context.spill)
        for chunk in self.collector.drain():
            self.partitions.add(chunk, context.memory)
        return self.partitions
