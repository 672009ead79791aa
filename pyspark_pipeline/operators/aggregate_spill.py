"""Groups that may not fit in memory: where it is short they are put aside on disk, and merged at the end.

They are put aside too, while they are collected, where another operator needs the memory.

What is put aside are the groups' keys and their *buffers*, the form in which a partial aggregation hands them on,
dealt out by the hash of the keys. At the end each partition is merged by itself; one that is still too large is
dealt out again. Where nothing was put aside the groups come in the order they were first seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.memory import Revocable
from pyspark_pipeline.memory.spill_files import SpillFile
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.operators import spill_partitions
from pyspark_pipeline.operators.aggregator import NULL_KEYS, Aggregator, merging_node
from pyspark_pipeline.operators.spill_partitions import LAST_LEVEL, SpillPartitions, first_columns, read_together
from pyspark_pipeline.plan.nodes import Aggregate, Settings

GROUPS = declare_counter("groups", "Groups of an aggregation", unit="groups")

_SLICE_ROWS = 1024


class LeveledGroups:
    """The groups of what was dealt out ``level`` times: in a table, and in partitions where they did not fit."""

    def __init__(self, node: Aggregate, settings: Settings, level: int) -> None:
        self.aggregator = Aggregator(node, settings)
        self.partitions: SpillPartitions | None = None
        self._node = node
        self._settings = settings
        self._level = level
        self._batch_rows: int = settings.options["batchRows"]
        self._spills = bool(node.grouping) and level <= LAST_LEVEL

    def begin(self, context: OperatorContext) -> None:
        """Offer the groups to whoever needs memory, until :meth:`finish`."""
        if self._spills:
            context.offer(Revocable(spill_partitions.LEAST_BYTES))

    def revoke(self, context: OperatorContext) -> None:
        """Put all groups aside, and write what waits to be."""
        self._put_aside(context)
        if self.partitions is not None:
            self.partitions.flush(context.memory)
        context.memory.force(self._nbytes)

    def add(self, chunk: Chunk, context: OperatorContext) -> int:
        """Take a chunk; put all groups aside where memory is short before or after. Give the NULLs in its keys.

        Raises :class:`ResourceExhaustedError` where groups that are dealt out no further, or none at all, do not fit.
        """
        if not context.memory.try_hold(self._waiting + self.aggregator.nbytes_with(chunk.num_rows)) and self._spills:
            self._make_room(context)
        null_keys = self.aggregator.add(chunk)
        if not context.memory.try_hold(self._nbytes):
            self._make_room(context)
        return null_keys

    def finish(self, context: OperatorContext) -> bool:
        """Learn that no more comes; say whether the groups are on disk. All are, or none."""
        if context.withdraw():
            self._put_aside(context)
        if self.partitions is None:
            context.memory.force(self.aggregator.nbytes)
            return False
        self._put_aside(context)
        self.partitions.finish(context)
        context.memory.hold(0)
        return True

    def close(self) -> None:
        """Drop the files. Repeatable."""
        if self.partitions is not None:
            self.partitions.close()

    @property
    def _waiting(self) -> int:
        """Bytes of groups put aside that are not written yet."""
        return 0 if self.partitions is None else self.partitions.nbytes

    @property
    def _nbytes(self) -> int:
        return self._waiting + self.aggregator.nbytes

    def _make_room(self, context: OperatorContext) -> None:
        nbytes = self.aggregator.nbytes
        if self._spills and self.aggregator.num_groups and nbytes >= spill_partitions.LEAST_BYTES:
            self._put_aside(context)
        elif self._spills:
            context.memory.force(self._nbytes)
        else:
            context.memory.hold_least(nbytes)

    def _put_aside(self, context: OperatorContext) -> None:
        """Write all groups and begin anew."""
        if not self.aggregator.num_groups:
            return
        if self.partitions is None:
            self.partitions = SpillPartitions(self._level, first_columns(len(self._node.grouping)), context.spill)
        full = self.aggregator
        at_once = spill_partitions.bytes_to_write(context.memory)
        rows = max(_SLICE_ROWS, full.num_groups * at_once // max(full.nbytes, 1))
        rows = min(rows, self._batch_rows)
        for start in range(0, full.num_groups, rows):
            self.partitions.add(full.buffers(start, min(start + rows, full.num_groups)), context.memory)
        self.aggregator = Aggregator(self._node, self._settings)
        context.memory.force(self._nbytes)


class SpillingAggregator:
    """Chunks in, groups out, of any number as long as there is disk. ``context`` is that of the operator calling."""

    def __init__(self, node: Aggregate, settings: Settings) -> None:
        self._node = node
        self._settings = settings
        self._batch_rows: int = settings.options["batchRows"]
        self._groups = self._collecting = LeveledGroups(node, settings, 0)
        self._open = [self._groups]

    def begin(self, context: OperatorContext) -> None:
        """Get ready for chunks."""
        self._groups.begin(context)

    def revoke(self, context: OperatorContext) -> None:
        """Put the groups that are being collected aside: another operator needs the memory."""
        self._collecting.revoke(context)

    def add(self, chunk: Chunk, context: OperatorContext) -> None:
        """Take a chunk of the child's columns."""
        context.metrics.add(NULL_KEYS, self._groups.add(chunk, context))

    def finish(self, context: OperatorContext) -> None:
        """Learn that no more chunk comes."""
        self._groups.finish(context)

    def chunks(self, context: OperatorContext) -> Iterator[Chunk | None]:
        """Give all groups; None where a piece of the work made none."""
        if self._groups.partitions is None:
            yield from self._given(self._groups, context)
        else:
            yield from self._restored(self._groups.partitions, context)

    def close(self) -> None:
        """Drop everything, files too. Repeatable."""
        for groups in self._open:
            groups.close()
        self._open = []

    def _restored(self, partitions: SpillPartitions, context: OperatorContext) -> Iterator[Chunk | None]:
        node = merging_node(self._node)
        for file in partitions.files:
            if file is not None:
                yield from self._merged(node, file, partitions.level + 1, context)

    def _merged(
        self, node: Aggregate, file: SpillFile, level: int, context: OperatorContext
    ) -> Iterator[Chunk | None]:
        """Merge the buffers of one partition."""
        groups = self._collecting = LeveledGroups(node, self._settings, level)
        self._open.append(groups)
        groups.begin(context)
        for chunk in read_together([file]):
            groups.add(chunk, context)
            yield None
        file.close()
        if groups.finish(context) and groups.partitions is not None:
            yield from self._restored(groups.partitions, context)
        else:
            yield from self._given(groups, context)
        groups.close()
        self._open.remove(groups)

    def _given(self, groups: LeveledGroups, context: OperatorContext) -> Iterator[Chunk | None]:
        aggregator = groups.aggregator
        context.memory.force(aggregator.nbytes)
        context.metrics.add(GROUPS, aggregator.num_groups)
        for start in range(0, aggregator.num_groups, self._batch_rows):
            yield aggregator.output(start, min(start + self._batch_rows, aggregator.num_groups))
        context.memory.hold(0)
