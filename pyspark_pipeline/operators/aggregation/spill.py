"""Aggregation with spilling: groups that do not fit in memory are written to disk and merged at the end.

They are also spilled, while input arrives, if another operator needs the memory.

A spill writes the groups' keys and *buffers*, the output of a partial aggregation, partitioned by the hash of the keys.
At the end each partition is merged separately; a partition that is still too large is partitioned again. Without a
spill the groups are in the order of their first row.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.expressions import first_failure
from pyspark_pipeline.memory import Reclaimable
from pyspark_pipeline.memory.spill_files import SpillFile
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.operators import spill_partitions
from pyspark_pipeline.operators.aggregation.aggregator import NULL_KEYS, AggregateProgram, Aggregator, merge_stage
from pyspark_pipeline.operators.spill_partitions import LAST_LEVEL, SpillPartitions, first_columns, read_coalesced

GROUPS = declare_counter("groups", "Groups of an aggregation", unit="groups")

_SLICE_ROWS = 1024


class SpillableGroups:
    """The groups of rows partitioned ``level`` times: in a table, and in spill partitions if they did not fit."""

    def __init__(self, program: AggregateProgram, level: int) -> None:
        self.aggregator = Aggregator(program)
        self.partitions: SpillPartitions | None = None
        self._program = program
        self._level = level
        self._batch_rows: int = program.settings.options.batch_rows
        self._can_spill = bool(program.node.grouping) and level <= LAST_LEVEL

    def begin(self, context: OperatorContext) -> None:
        """Register the groups as reclaimable until :meth:`finish`."""
        if self._can_spill:
            context.register_reclaimable(Reclaimable(spill_partitions.MIN_SPILL_BYTES))

    def reclaim(self, context: OperatorContext) -> None:
        """Spill all groups and flush the spill partitions."""
        self._spill_groups(context)
        if self.partitions is not None:
            self.partitions.flush(context.memory)
        context.memory.reserve_unchecked(self._nbytes)

    def add(self, chunk: Chunk, context: OperatorContext) -> int:
        """Add a chunk; spill all groups if memory is short before or after. Return the number of NULLs in its keys.

        Raises :class:`ResourceExhaustedError` if groups that cannot be partitioned (further) do not fit.
        """
        needed = self._unwritten_bytes + self.aggregator.nbytes_after(chunk.num_rows)
        if not context.memory.try_reserve(needed) and self._can_spill:
            self._relieve_memory(context)
        null_keys = self.aggregator.add(chunk)
        if not context.memory.try_reserve(self._nbytes):
            self._relieve_memory(context)
        return null_keys

    def finish(self, context: OperatorContext) -> bool:
        """Handle the end of the input; return whether the groups are on disk. Either all are, or none."""
        if context.unregister_reclaimable():
            self._spill_groups(context)
        if self.partitions is None:
            context.memory.reserve_unchecked(self.aggregator.nbytes)
            return False
        self._spill_groups(context)
        self.partitions.finish(context)
        context.memory.reserve(0)
        return True

    def close(self) -> None:
        """Release the files. Repeatable."""
        if self.partitions is not None:
            self.partitions.close()

    @property
    def _unwritten_bytes(self) -> int:
        """Bytes of spilled groups that are not written yet."""
        return 0 if self.partitions is None else self.partitions.nbytes

    @property
    def _nbytes(self) -> int:
        return self._unwritten_bytes + self.aggregator.nbytes

    def _relieve_memory(self, context: OperatorContext) -> None:
        nbytes = self.aggregator.nbytes
        if self._can_spill and self.aggregator.num_groups and nbytes >= spill_partitions.MIN_SPILL_BYTES:
            self._spill_groups(context)
        elif self._can_spill:
            context.memory.reserve_unchecked(self._nbytes)
        else:
            context.memory.reserve_minimum(nbytes)

    def _spill_groups(self, context: OperatorContext) -> None:
        """Spill all groups and start with an empty table."""
        if not self.aggregator.num_groups:
            return
        if self.partitions is None:
            keys = first_columns(len(self._program.node.grouping))
            self.partitions = SpillPartitions(self._level, keys, context.spill)
        full = self.aggregator
        at_once = spill_partitions.flush_threshold(context.memory)
        rows = max(_SLICE_ROWS, full.num_groups * at_once // max(full.nbytes, 1))
        rows = min(rows, self._batch_rows)
        for start in range(0, full.num_groups, rows):
            self.partitions.add(full.buffers(start, min(start + rows, full.num_groups)), context.memory)
        self.aggregator = Aggregator(self._program)
        context.memory.reserve_unchecked(self._nbytes)


class SpillingAggregator:
    """Aggregates chunks to groups, limited only by disk space. ``context`` is that of the calling operator."""

    def __init__(self, program: AggregateProgram) -> None:
        self._program = program
        self._batch_rows: int = program.settings.options.batch_rows
        self._groups = self._current = SpillableGroups(program, 0)
        self._open = [self._groups]

    def begin(self, context: OperatorContext) -> None:
        """Prepare for input."""
        self._groups.begin(context)

    def reclaim(self, context: OperatorContext) -> None:
        """Spill the groups of the current table: another operator needs the memory."""
        self._current.reclaim(context)

    def add(self, chunk: Chunk, context: OperatorContext) -> None:
        """Add a chunk of the child's columns."""
        context.metrics.add(NULL_KEYS, self._groups.add(chunk, context))

    def finish(self, context: OperatorContext) -> None:
        """Handle the end of the input."""
        self._groups.finish(context)

    def chunks(self, context: OperatorContext) -> Iterator[Chunk | None]:
        """Yield all groups; None after a step of work without output."""
        if self._groups.partitions is None:
            yield from self._output_chunks(self._groups, context)
        else:
            yield from self._merged_partitions(self._groups.partitions, context)

    def close(self) -> None:
        """Release everything, including files. Repeatable."""
        for groups in self._open:
            groups.close()
        self._open = []

    def _merged_partitions(self, partitions: SpillPartitions, context: OperatorContext) -> Iterator[Chunk | None]:
        merging = AggregateProgram(merge_stage(self._program.node), self._program.settings)
        for file in partitions.files:
            if file is not None:
                yield from self._merged_partition(merging, file, partitions.level + 1, context)

    def _merged_partition(
        self, merging: AggregateProgram, file: SpillFile, level: int, context: OperatorContext
    ) -> Iterator[Chunk | None]:
        """Merge the buffers of one partition."""
        groups = self._current = SpillableGroups(merging, level)
        self._open.append(groups)
        groups.begin(context)
        for chunk in read_coalesced([file]):
            groups.add(chunk, context)
            yield None
        file.close()
        if groups.finish(context) and groups.partitions is not None:
            yield from self._merged_partitions(groups.partitions, context)
        else:
            yield from self._output_chunks(groups, context)
        groups.close()
        self._open.remove(groups)

    def _output_chunks(self, groups: SpillableGroups, context: OperatorContext) -> Iterator[Chunk | None]:
        aggregator = groups.aggregator
        context.memory.reserve_unchecked(aggregator.nbytes)
        context.metrics.add(GROUPS, aggregator.num_groups)
        for start in range(0, aggregator.num_groups, self._batch_rows):
            stop = min(start + self._batch_rows, aggregator.num_groups)
            try:
                made = aggregator.output(start, stop)
            except SparkConditionError as error:
                first = first_failure(partial(_output, aggregator, start), stop - start, error)
                if first.rows_before:
                    yield aggregator.output(start, start + first.rows_before)
                raise first from None
            yield made
        context.memory.reserve(0)


def _output(aggregator: Aggregator, offset: int, start: int, stop: int) -> Chunk:
    return aggregator.output(offset + start, offset + stop)
