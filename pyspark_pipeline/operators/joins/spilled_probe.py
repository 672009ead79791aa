"""The probe of a join that is on disk: probe rows are put aside, then partition after partition is joined.

A partition whose build side is still too large is dealt out again. What that cannot divide, one key, is built in
blocks that each meet all probe rows; a bit for every probe row tells whether any block had a match, where the join's
output depends on that.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from pyspark_pipeline.exec.chunk_slices import slices
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.kernels.kept_pages import KEPT
from pyspark_pipeline.memory import Sized
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.operators import spill_partitions
from pyspark_pipeline.operators.joins.build_side import BuildCollector, build_bytes
from pyspark_pipeline.operators.joins.probe_hits import ProbeHits
from pyspark_pipeline.operators.joins.shared import JoinShared
from pyspark_pipeline.operators.joins.side_probe import ProbeExpressions, SideProbe
from pyspark_pipeline.operators.joins.spill import JoinPartition, JoinSpill, partitions_of
from pyspark_pipeline.operators.spill_partitions import LAST_LEVEL, SpillPartitions, first_columns, read_together
from pyspark_pipeline.plan.expr import columns_read
from pyspark_pipeline.plan.joins import Emits, JoinShape

PARTITIONS = declare_counter("join_partitions", "Partitions of spilled joins", unit="partitions")
BLOCKS = declare_counter("join_blocks", "Blocks of build rows of one key that did not fit in memory", unit="blocks")

_KEEPS_PROBE = (Emits.PROBE_UNMATCHED, Emits.PROBE_FLAGGED)
#: Blocks grow by so many rows: the index of a table may need much for each.
_PIECE_ROWS = 1 << 13


class SpilledProbe:
    """One driver's part in a join that is on disk: ``add`` …, ``finish``; when all drivers have, ``chunks``."""

    def __init__(
        self, shared: JoinShared, spill: JoinSpill, expressions: ProbeExpressions, context: OperatorContext
    ) -> None:
        self._shared = shared
        self._spill = spill
        self._expressions = expressions
        self._context = context
        self._part = SpillPartitions(0, expressions.keys.evaluate, context.spill)
        self._needed = _needed_columns(shared)
        self._mine: list[JoinPartition] = []
        self._is_handed_in = False

    def add(self, chunk: Chunk) -> None:
        """Put a chunk aside, of its columns those that the join needs."""
        columns = [column if i in self._needed else pa.nulls(len(column)) for i, column in enumerate(chunk.columns)]
        self._part.add(pa.RecordBatch.from_arrays(columns, chunk.schema.names), self._context.memory)
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
            nbytes = partition.build_bytes + partition.probe_bytes
            partition.close()
            self._context.memory.hold(0)
            KEPT.left(nbytes)

    def _next(self) -> JoinPartition | None:
        return self._mine.pop() if self._mine else self._spill.take()

    def _joined(self, partition: JoinPartition) -> Iterator[Chunk | None]:
        memory = self._context.memory
        nbytes, rows = partition.build_bytes, partition.build_rows
        needed = nbytes + build_bytes(nbytes, rows)
        fits = memory.try_hold(needed)
        if not fits and needed < spill_partitions.LEAST_BYTES:
            memory.force(needed)
            fits = True
        if not fits and partition.level < LAST_LEVEL and rows != partition.above:
            yield from self._dealt_out(partition)
            return
        self._context.metrics.add(PARTITIONS)
        yield from self._whole(partition) if fits else self._in_blocks(partition)

    def _whole(self, partition: JoinPartition) -> Iterator[Chunk | None]:
        """Build the partition and let its probe rows pass."""
        collector = self._shared.collector()
        for chunk in read_together(partition.build):
            collector.restore(chunk)
            yield None
        yield from self._probed(collector, partition, None, is_last=True)

    def _in_blocks(self, partition: JoinPartition) -> Iterator[Chunk | None]:
        """Build one block of the partition after the other, and let all its probe rows pass each."""
        hits = ProbeHits(partition.probe_rows) if _tells_hits(self._shared.shape) else None
        self._context.memory.hold_least(_bytes_of(hits))
        collector = self._shared.collector()
        for chunk in read_together(partition.build):
            for piece in slices(chunk, _PIECE_ROWS):
                if not self._has_room(collector, piece, hits):
                    yield from self._block(collector, partition, hits, is_last=False)
                    collector = self._shared.collector()
                    self._has_room(collector, piece, hits)
                collector.restore(piece)
            yield None
        yield from self._block(collector, partition, hits, is_last=True)

    def _has_room(self, collector: BuildCollector, piece: Chunk, hits: ProbeHits | None) -> bool:
        """Hold what a block with one more piece needs; one piece is a block in any case."""
        nbytes, rows = collector.nbytes + piece.nbytes, collector.rows + piece.num_rows
        needed = nbytes + build_bytes(nbytes, rows) + _bytes_of(hits)
        if self._context.memory.try_hold(needed):
            return True
        if not collector.rows:
            self._context.memory.force(needed)
        return not collector.rows

    def _block(
        self, collector: BuildCollector, partition: JoinPartition, hits: ProbeHits | None, *, is_last: bool
    ) -> Iterator[Chunk | None]:
        self._context.metrics.add(BLOCKS)
        yield from self._probed(collector, partition, hits, is_last=is_last)

    def _probed(
        self, collector: BuildCollector, partition: JoinPartition, hits: ProbeHits | None, *, is_last: bool
    ) -> Iterator[Chunk | None]:
        """Let the probe rows pass what was collected; what its table needs is held."""
        shared = self._shared
        side = shared.build_side([collector])
        matched = np.zeros(side.rows, dtype=np.uint8) if shared.shape.marks_build else None
        self._context.memory.force(side.nbytes + _bytes_of(matched) + _bytes_of(hits))
        probe = SideProbe(shared, self._expressions, side, matched, self._context.metrics)
        for place, chunk in enumerate(read_together(partition.probe)):
            if hits is None:
                yield from probe.join(chunk)
                continue
            flags = hits.of(place, chunk.num_rows)
            yield from probe.join_block(chunk, flags, is_last=is_last)
            hits.keep(place, flags)
        yield from probe.rest()
        self._context.memory.force(_bytes_of(hits))

    def _dealt_out(self, partition: JoinPartition) -> Iterator[Chunk | None]:
        """Deal both sides out at the next level."""
        level = partition.level + 1
        room = self._context.spill
        build = SpillPartitions(level, first_columns(len(self._shared.build_keys)), room)
        probe = SpillPartitions(level, self._expressions.keys.evaluate, room)
        for files, part in ((partition.build, build), (partition.probe, probe)):
            self._spill.own(part)
            for chunk in read_together(files):
                part.add(chunk, self._context.memory)
                self._context.memory.force(part.nbytes)
                yield None
            part.finish(self._context)
        self._mine += partitions_of([build], [probe], level, above=partition.build_rows)


def _needed_columns(shared: JoinShared) -> set[int]:
    """Give the columns of the probe side that come out, or are read by the keys or the condition."""
    columns = shared.columns
    needed = {i for i, kind in enumerate(columns.probe) if kind is not None} | columns_read(shared.probe_keys)
    return needed | set(columns.residual.probe if columns.residual is not None else ())


def _tells_hits(shape: JoinShape) -> bool:
    """Say whether what comes of a probe row depends on all blocks together."""
    return shape.keeps_probe or shape.emits in (*_KEEPS_PROBE, Emits.PROBE_MATCHED)


def _bytes_of(held: Sized | None) -> int:
    return 0 if held is None else held.nbytes


def _gives(shape: JoinShape, partition: JoinPartition) -> bool:
    """Say whether a partition can have output, going by which of its sides have rows."""
    build, probe = bool(partition.build), bool(partition.probe)
    keeps_probe = shape.keeps_probe or shape.emits in _KEEPS_PROBE
    keeps_build = shape.keeps_build or shape.emits is Emits.BUILD_UNMATCHED
    return (build and probe) or (build and keeps_build) or (probe and keeps_probe)
