"""The probe of a join that is on disk: probe rows are put aside, then partition after partition is joined.

A partition whose build side is still too large is dealt out again. What that cannot divide, one key, is built in
blocks that each meet all probe rows, where the join's output for a probe row does not depend on all build rows
together; else it is held over the limit.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.operators import spill_partitions
from pyspark_pipeline.operators.joins.build_side import BuildCollector, build_bytes
from pyspark_pipeline.operators.joins.shared import JoinShared
from pyspark_pipeline.operators.joins.side_probe import ProbeExpressions, SideProbe
from pyspark_pipeline.operators.joins.spill import JoinPartition, JoinSpill, partitions_of
from pyspark_pipeline.operators.spill_partitions import LAST_LEVEL, SpillPartitions, first_columns, read_together
from pyspark_pipeline.plan.expr import columns_read
from pyspark_pipeline.plan.joins import Emits, JoinShape

PARTITIONS = declare_counter("join_partitions", "Partitions of spilled joins", unit="partitions")
BLOCKS = declare_counter("join_blocks", "Blocks of build rows of one key that did not fit in memory", unit="blocks")

_KEEPS_PROBE = (Emits.PROBE_UNMATCHED, Emits.PROBE_FLAGGED)
_GIVES_BUILD = (Emits.BUILD_MATCHED, Emits.BUILD_UNMATCHED)


class SpilledProbe:
    """One driver's part in a join that is on disk: ``add`` …, ``finish``; when all drivers have, ``chunks``."""

    def __init__(
        self, shared: JoinShared, spill: JoinSpill, expressions: ProbeExpressions, context: OperatorContext
    ) -> None:
        self._shared = shared
        self._spill = spill
        self._expressions = expressions
        self._context = context
        self._part = SpillPartitions(0, expressions.keys.evaluate)
        self._needed = _needed_columns(shared)
        self._mine: list[JoinPartition] = []
        self._is_handed_in = False

    def add(self, chunk: Chunk) -> None:
        """Put a chunk aside, of its columns those that the join needs."""
        columns = [column if i in self._needed else pa.nulls(len(column)) for i, column in enumerate(chunk.columns)]
        self._part.add(pa.RecordBatch.from_arrays(columns, chunk.schema.names))
        self._context.memory.force(self._part.nbytes)

    def finish(self) -> None:
        """Hand in what was put aside."""
        self._part.finish(self._context)
        self._context.memory.hold(0)
        self._is_handed_in = True
        self._spill.add_probe(self._part)

    def close(self) -> None:
        """Drop what is not handed in: what is, other drivers read. Repeatable."""
        if not self._is_handed_in:
            self._part.close()

    def chunks(self) -> Iterator[Chunk | None]:
        """Join the partitions that no other driver takes; None where a piece of the work made no rows."""
        while (partition := self._next()) is not None:
            if _gives(self._shared.shape, partition):
                yield from self._joined(partition)
            partition.close()
            self._context.memory.hold(0)

    def _next(self) -> JoinPartition | None:
        return self._mine.pop() if self._mine else self._spill.take()

    def _joined(self, partition: JoinPartition) -> Iterator[Chunk | None]:
        memory = self._context.memory
        nbytes, rows = partition.build_bytes, partition.build_rows
        needed = nbytes + build_bytes(nbytes, rows)
        is_whole = memory.try_hold(needed)
        if not is_whole and needed >= spill_partitions.LEAST_BYTES:
            if partition.level < LAST_LEVEL and rows != partition.above:
                yield from self._dealt_out(partition)
                return
            is_whole = not self._comes_in_blocks()
        self._context.metrics.add(PARTITIONS)
        if is_whole:
            memory.force(needed)
        yield from self._built(partition, is_whole)

    def _comes_in_blocks(self) -> bool:
        """Say whether build rows can be joined some after the others."""
        shape = self._shared.shape
        return shape.emits in _GIVES_BUILD or (shape.emits is Emits.PAIRS and not shape.keeps_probe)

    def _built(self, partition: JoinPartition, is_whole: bool) -> Iterator[Chunk | None]:
        """Build the partition, or one block of it after the other, and let its probe rows pass."""
        collector = self._shared.collector()
        for chunk in read_together(partition.build):
            if not is_whole and collector.rows and not self._has_room(collector, chunk):
                self._context.metrics.add(BLOCKS)
                yield from self._probed(collector, partition)
                collector = self._shared.collector()
            collector.restore(chunk)
            yield None
        if not is_whole:
            self._context.metrics.add(BLOCKS)
        yield from self._probed(collector, partition)

    def _has_room(self, collector: BuildCollector, chunk: Chunk) -> bool:
        nbytes, rows = collector.nbytes + chunk.nbytes, collector.rows + chunk.num_rows
        return self._context.memory.try_hold(nbytes + build_bytes(nbytes, rows))

    def _probed(self, collector: BuildCollector, partition: JoinPartition) -> Iterator[Chunk | None]:
        shared = self._shared
        side = shared.build_side([collector])
        self._context.memory.force(side.nbytes)
        matched = np.zeros(side.rows, dtype=np.uint8) if shared.shape.marks_build else None
        probe = SideProbe(shared, self._expressions, side, matched, self._context.metrics)
        for chunk in read_together(partition.probe):
            yield from probe.join(chunk)
        yield from probe.rest()
        self._context.memory.hold(0)

    def _dealt_out(self, partition: JoinPartition) -> Iterator[Chunk | None]:
        """Deal both sides out at the next level."""
        level = partition.level + 1
        build = SpillPartitions(level, first_columns(len(self._shared.build_keys)))
        probe = SpillPartitions(level, self._expressions.keys.evaluate)
        for files, part in ((partition.build, build), (partition.probe, probe)):
            self._spill.own(part)
            for chunk in read_together(files):
                part.add(chunk)
                self._context.memory.force(part.nbytes)
                yield None
            part.finish(self._context)
        self._mine += partitions_of([build], [probe], level, above=partition.build_rows)


def _needed_columns(shared: JoinShared) -> set[int]:
    """Give the columns of the probe side that come out, or are read by the keys or the condition."""
    columns = shared.columns
    needed = {i for i, kind in enumerate(columns.probe) if kind is not None} | columns_read(shared.probe_keys)
    return needed | set(columns.residual.probe if columns.residual is not None else ())


def _gives(shape: JoinShape, partition: JoinPartition) -> bool:
    """Say whether a partition can have output, going by which of its sides have rows."""
    build, probe = bool(partition.build), bool(partition.probe)
    keeps_probe = shape.keeps_probe or shape.emits in _KEEPS_PROBE
    keeps_build = shape.keeps_build or shape.emits is Emits.BUILD_UNMATCHED
    return (build and probe) or (build and keeps_build) or (probe and keeps_probe)
