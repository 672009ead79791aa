"""The probe of a join: streams chunks past the built side, as soon as that is there.

A chunk that meets many build rows leaves in pieces; the next one is taken when all of them have left. Where
few rows of a chunk may be left, what is left of several is joined. Where build rows are marked, the last driver
gives those that are due after its own last chunk. Where the built side is on disk, chunks are put aside too, and
each driver joins partitions when all have put their last chunk aside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pyarrow as pa

from pyspark_pipeline.exec.blocking import BlockingReason
from pyspark_pipeline.exec.chunk_accumulate import ChunkAccumulator
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.operators.joins.build_side import BuildSide
from pyspark_pipeline.operators.joins.shared import JoinShared
from pyspark_pipeline.operators.joins.side_probe import ProbeExpressions, SideProbe
from pyspark_pipeline.operators.joins.spill import JoinSpill
from pyspark_pipeline.operators.joins.spilled_probe import SpilledProbe


class JoinProbeOperator(Operator):
    """Joins the chunks of one driver."""

    def __init__(self, shared: JoinShared, driver_sequence: int) -> None:
        self._shared = shared
        self._sequence = driver_sequence
        self._expressions = ProbeExpressions(shared)
        self._work: Iterator[Chunk | None] | None = None
        self._small = ChunkAccumulator(shared.batch_rows) if shared.may_drop_rows else None
        self._side: SideProbe | None = None
        self._spilled: SpilledProbe | None = None
        self._is_restored = False
        self._given = self._waiting = 0
        self._finishing = False
        self._arrived = False
        self._ended = False

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        context.wake_on(self._shared.bridge.ready)
        if self._shared.spill is not None:
            context.wake_on(self._shared.spill.complete)
        self._shared.open(context.memory)

    def need_input(self) -> bool:
        return self._work is None and not self._finishing and self._shared.bridge.is_ready()

    def push_chunk(self, chunk: Chunk) -> None:
        built = self._shared.bridge.get()
        if isinstance(built, JoinSpill):
            self._spilled_by(built).add(chunk)
        else:
            self._work = self._probe_of(built).join(chunk)

    def has_output(self) -> bool:
        return (
            self._work is not None
            or (self._small is not None and self._small.has_chunk())
            or (self._waits() and self._shared.is_on_disk)
        )

    def blocking_reason(self) -> BlockingReason:
        return BlockingReason.JOIN_PROBE if self._shared.bridge.is_ready() else BlockingReason.JOIN_BUILD

    def _waits(self) -> bool:
        """Say whether partitions will be joined when all drivers have put their rows aside."""
        return self._arrived and self._spilled is not None and not self._is_restored

    def pull_chunk(self) -> Chunk | None:
        small = self._small
        if small is None:
            return self._next()
        if not small.has_chunk():
            made = self._next()
            if made is not None:
                small.add(made)
                self._waiting += made.num_rows
                if self._waiting >= self._given:
                    small.flush()
        return self._taken(small) if small.has_chunk() else None

    def _taken(self, small: ChunkAccumulator) -> Chunk:
        """Take a chunk. No more rows wait than have been given: who wants few rows gets them soon."""
        chunk = small.take()
        self._given += chunk.num_rows
        self._waiting -= chunk.num_rows
        return chunk

    def _next(self) -> Chunk | None:
        """Give the next piece of the work; None where it made no rows or was the last."""
        if self._work is None:
            assert self._spilled is not None
            self._work = self._spilled.chunks()
            self._is_restored = True
        made = next(self._work, _DONE)
        if made is not _DONE:
            return made
        self._work = None
        if self._finishing:
            self._finish()
        return None

    def set_finishing(self) -> None:
        self._finishing = True
        if self._work is None:
            self._finish()

    def is_finished(self) -> bool:
        return (self._finishing or self._shared.is_void) and not self._waits() and not self.has_output()

    def set_finished(self) -> None:
        self._finishing = True
        self._drop()
        if not self._ended:
            self._ended = True
            self._shared.probe_ended()

    def close(self) -> None:
        self._drop()
        self._side = None
        if self._spilled is not None:
            self._spilled.close()
        self.context.memory.hold(0)
        self._shared.probe_closed()

    def _drop(self) -> None:
        self._work = None
        self._is_restored = True
        if self._small is not None:
            self._small.clear()

    def _probe_of(self, side: BuildSide) -> SideProbe:
        if self._side is None:
            shared = self._shared
            self._side = SideProbe(shared, self._expressions, side, shared.matched, self.context.metrics)
        return self._side

    def _spilled_by(self, spill: JoinSpill) -> SpilledProbe:
        if self._spilled is None:
            self._spilled = SpilledProbe(self._shared, spill, self._expressions, self.context)
        return self._spilled

    def _finish(self) -> None:
        """All chunks are joined, or put aside; the first time, let the others know."""
        if not self._arrived:
            self._arrived = True
            self._arrive()
        if self._work is None and self._small is not None:
            self._small.flush()

    def _arrive(self) -> None:
        """Hand in what was put aside; where this driver is the last, go on with what is due after all chunks."""
        built = self._shared.bridge.peek()
        if isinstance(built, JoinSpill):
            self._spilled_by(built).finish()
        if not self._shared.is_last_probe(self._sequence):
            return
        if isinstance(built, JoinSpill):
            built.all_probed()
        elif built is not None and self._shared.matched is not None:
            self._work = self._probe_of(built).rest()


_DONE = pa.RecordBatch.from_arrays([], names=[])


class JoinProbeFactory(OperatorFactory):
    """Makes the probes; they are blocked until the built side is there."""

    def __init__(self, shared: JoinShared, name: str) -> None:
        self.name = name
        self._shared = self.meeting_place = shared

    def keep_only(self, ordinals: Collection[int]) -> None:
        """Learn that the operator above reads only these columns; what is in the others does not matter."""
        self.unread = self._shared.keep_only(ordinals)

    def create(self, dop: int, driver_sequence: int) -> JoinProbeOperator:
        self._shared.expect_probes(dop)
        return JoinProbeOperator(self._shared, driver_sequence)

    def precondition_ready(self) -> bool:
        return self._shared.bridge.is_ready()
