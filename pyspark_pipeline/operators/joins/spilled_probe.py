"""The probe of a spilled join: probe rows are spilled, then one partition after the other is joined.

A partition whose build side is still too large is repartitioned. If that does not help (one key), its build side is
built in blocks, each probed by all probe rows; a bit for every probe row tells whether any block had a match, if the
join's output depends on that.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from pyspark_pipeline.exec.chunk_slices import slices
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.kernels.allocator_trim import ALLOCATOR_TRIM
from pyspark_pipeline.memory import Sized
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.operators import spill_partitions
from pyspark_pipeline.operators.joins.build_side import BuildCollector, build_bytes
from pyspark_pipeline.operators.joins.probe_matches import ProbeMatchFlags
from pyspark_pipeline.operators.joins.shared import SharedJoinState
from pyspark_pipeline.operators.joins.side_probe import ProbeExpressions, SideProbe
from pyspark_pipeline.operators.joins.spill import JoinPartition, JoinSpill, partitions_of
from pyspark_pipeline.operators.spill_partitions import LAST_LEVEL, SpillPartitions, first_columns, read_coalesced
from pyspark_pipeline.plan.expr import columns_read
from pyspark_pipeline.plan.joins import JoinOutputKind, JoinShape

PARTITIONS = declare_counter("join_partitions", "Partitions of spilled joins", unit="partitions")
BLOCKS = declare_counter("join_blocks", "Blocks of build rows of one key that did not fit in memory", unit="blocks")

_EMITS_UNMATCHED_PROBE = (JoinOutputKind.PROBE_UNMATCHED, JoinOutputKind.PROBE_FLAGGED)
#: The rows by which a block grows: a table's index may need many bytes per row.
_PIECE_ROWS = 1 << 13


class SpilledProbe:
    """The probe of a spilled join in one driver: ``add`` …, ``finish``; after all drivers finished, ``chunks``."""

    def __init__(
        self, shared: SharedJoinState, spill: JoinSpill, expressions: ProbeExpressions, context: OperatorContext
    ) -> None:
        self._shared = shared
        self._spill = spill
        self._expressions = expressions
        self._context = context
        self._part = SpillPartitions(0, expressions.keys.evaluate, context.spill)
        self._needed = _needed_columns(shared)
        self._mine: list[JoinPartition] = []
        self._is_finished = False

    def add(self, chunk: Chunk) -> None:
        """Spill the columns of a chunk that the join needs."""
        columns = [column if i in self._needed else pa.nulls(len(column)) for i, column in enumerate(chunk.columns)]
        self._part.add(pa.RecordBatch.from_arrays(columns, chunk.schema.names), self._context.memory)
        self._context.memory.reserve_unchecked(self._part.nbytes)

    def finish(self) -> None:
        """Flush the spilled rows and add them to the join's."""
        self._part.finish(self._context)
        self._context.memory.reserve(0)
        self._is_finished = True
        self._spill.add_probe(self._part)

    def close(self) -> None:
        """Delete this driver's files unless it finished: then other drivers read them. Idempotent."""
        if not self._is_finished:
            self._part.close()

    def chunks(self) -> Iterator[Chunk | None]:
        """Take and join partitions until none is left; yield None if a step made no rows."""
        while (partition := self._next()) is not None:
            if _has_output(self._shared.shape, partition):
                yield from self._join_partition(partition)
            nbytes = partition.build_bytes + partition.probe_bytes
            partition.close()
            self._context.memory.reserve(0)
            ALLOCATOR_TRIM.note_freed(nbytes)

    def _next(self) -> JoinPartition | None:
        return self._mine.pop() if self._mine else self._spill.next_partition()

    def _join_partition(self, partition: JoinPartition) -> Iterator[Chunk | None]:
        memory = self._context.memory
        nbytes, rows = partition.build_bytes, partition.build_rows
        needed = nbytes + build_bytes(nbytes, rows)
        fits = memory.try_reserve(needed)
        if not fits and needed < spill_partitions.MIN_SPILL_BYTES:
            memory.reserve_unchecked(needed)
            fits = True
        if not fits and partition.level < LAST_LEVEL and rows != partition.parent_build_rows:
            yield from self._repartition(partition)
            return
        self._context.metrics.add(PARTITIONS)
        yield from self._join_whole(partition) if fits else self._join_in_blocks(partition)

    def _join_whole(self, partition: JoinPartition) -> Iterator[Chunk | None]:
        """Build the whole partition, then probe it."""
        collector = self._shared.collector()
        for chunk in read_coalesced(partition.build):
            collector.restore(chunk)
            yield None
        yield from self._probe(collector, partition, None, is_last=True)

    def _join_in_blocks(self, partition: JoinPartition) -> Iterator[Chunk | None]:
        """Build one block of the partition after the other, and probe each with all probe rows."""
        match_flags = ProbeMatchFlags(partition.probe_rows) if _needs_match_flags(self._shared.shape) else None
        self._context.memory.reserve_minimum(_bytes_of(match_flags))
        collector = self._shared.collector()
        for chunk in read_coalesced(partition.build):
            for piece in slices(chunk, _PIECE_ROWS):
                if not self._reserve_block(collector, piece, match_flags):
                    yield from self._join_block(collector, partition, match_flags, is_last=False)
                    collector = self._shared.collector()
                    self._reserve_block(collector, piece, match_flags)
                collector.restore(piece)
            yield None
        yield from self._join_block(collector, partition, match_flags, is_last=True)

    def _reserve_block(self, collector: BuildCollector, piece: Chunk, match_flags: ProbeMatchFlags | None) -> bool:
        """Reserve memory for the block with one more piece; return whether it fits. A first piece always fits."""
        nbytes, rows = collector.nbytes + piece.nbytes, collector.rows + piece.num_rows
        needed = nbytes + build_bytes(nbytes, rows) + _bytes_of(match_flags)
        if self._context.memory.try_reserve(needed):
            return True
        if not collector.rows:
            self._context.memory.reserve_unchecked(needed)
        return not collector.rows

    def _join_block(
        self, collector: BuildCollector, partition: JoinPartition, match_flags: ProbeMatchFlags | None, *, is_last: bool
    ) -> Iterator[Chunk | None]:
        self._context.metrics.add(BLOCKS)
        yield from self._probe(collector, partition, match_flags, is_last=is_last)

    def _probe(
        self, collector: BuildCollector, partition: JoinPartition, match_flags: ProbeMatchFlags | None, *, is_last: bool
    ) -> Iterator[Chunk | None]:
        """Probe the collected rows with all probe rows; the table's bytes are reserved meanwhile."""
        shared = self._shared
        side = shared.build_side([collector])
        matched = np.zeros(side.rows, dtype=np.uint8) if shared.shape.tracks_build_matches else None
        self._context.memory.reserve_unchecked(side.nbytes + _bytes_of(matched) + _bytes_of(match_flags))
        probe = SideProbe(shared, self._expressions, side, matched, self._context.metrics)
        for place, chunk in enumerate(read_coalesced(partition.probe)):
            if match_flags is None:
                yield from probe.join(chunk)
                continue
            flags = match_flags.of(place, chunk.num_rows)
            yield from probe.join_block(chunk, flags, is_last=is_last)
            match_flags.keep(place, flags)
        yield from probe.build_side_output()
        self._context.memory.reserve_unchecked(_bytes_of(match_flags))

    def _repartition(self, partition: JoinPartition) -> Iterator[Chunk | None]:
        """Partition both sides at the next level."""
        level = partition.level + 1
        budget = self._context.spill
        build = SpillPartitions(level, first_columns(len(self._shared.build_keys)), budget)
        probe = SpillPartitions(level, self._expressions.keys.evaluate, budget)
        for files, part in ((partition.build, build), (partition.probe, probe)):
            self._spill.own(part)
            for chunk in read_coalesced(files):
                part.add(chunk, self._context.memory)
                self._context.memory.reserve_unchecked(part.nbytes)
                yield None
            part.finish(self._context)
        self._mine += partitions_of([build], [probe], level, parent_build_rows=partition.build_rows)


def _needed_columns(shared: SharedJoinState) -> set[int]:
    """Return the probe columns that are in the output, or read by the keys or the condition."""
    columns = shared.columns
    needed = {i for i, kind in enumerate(columns.probe) if kind is not None} | columns_read(shared.probe_keys)
    return needed | set(columns.residual.probe if columns.residual is not None else ())


def _needs_match_flags(shape: JoinShape) -> bool:
    """Return whether the output for a probe row depends on all blocks together."""
    return shape.probe_outer or shape.output_kind in (*_EMITS_UNMATCHED_PROBE, JoinOutputKind.PROBE_MATCHED)


def _bytes_of(held: Sized | None) -> int:
    return 0 if held is None else held.nbytes


def _has_output(shape: JoinShape, partition: JoinPartition) -> bool:
    """Return whether a partition can have output, judged by which of its sides have rows."""
    build, probe = bool(partition.build), bool(partition.probe)
    probe_outer = shape.probe_outer or shape.output_kind in _EMITS_UNMATCHED_PROBE
    build_outer = shape.build_outer or shape.output_kind is JoinOutputKind.BUILD_UNMATCHED
    return (build and probe) or (build and build_outer) or (probe and probe_outer)
