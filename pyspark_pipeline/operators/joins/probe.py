"""The probe of a join: joins each chunk with the build side, once that is built.

A chunk with many matches leaves in pieces; the next chunk is accepted when all of them have left. If the join may
drop rows, the outputs of several chunks are coalesced. If build matches are tracked, the last driver emits the
remaining build rows after its own last chunk. If the build side is on disk, chunks are spilled too, and the drivers
join partitions when all drivers have spilled their last chunk.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.exec.blocking import BlockingReason
from pyspark_pipeline.exec.chunk_accumulate import EarlyAccumulator
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.event import Waker
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.operators.joins.build_side import BuildSide
from pyspark_pipeline.operators.joins.shared import SharedJoinState
from pyspark_pipeline.operators.joins.side_probe import ProbeExpressions, SideProbe
from pyspark_pipeline.operators.joins.spill import JoinSpill
from pyspark_pipeline.operators.joins.spilled_probe import SpilledProbe


class JoinProbeOperator(Operator):
    """Joins the chunks of one driver."""

    def __init__(self, shared: SharedJoinState, driver_sequence: int) -> None:
        self._shared = shared
        self._sequence = driver_sequence
        self._expressions = ProbeExpressions(shared)
        self._work: Iterator[Chunk | None] | None = None
        self._accumulator = EarlyAccumulator(shared.batch_rows) if shared.may_drop_rows else None
        self._side: SideProbe | None = None
        self._spilled: SpilledProbe | None = None
        self._is_restored = False
        self._finishing = False
        self._has_arrived = False
        self._has_ended = False

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        self._shared.open(context.memory)

    def need_input(self) -> bool:
        has_failed = self._accumulator is not None and self._accumulator.has_failed
        may_take = self._work is None and not self._finishing and not has_failed
        return may_take and self._shared.bridge.is_ready()

    def push_chunk(self, chunk: Chunk) -> None:
        built = self._shared.bridge.get()
        if isinstance(built, JoinSpill):
            self._spilled_probe(built).add(chunk)
        else:
            self._work = self._side_probe(built).join(chunk)

    def has_output(self) -> bool:
        return (
            self._work is not None
            or (self._accumulator is not None and self._accumulator.has_chunk())
            or (self._awaits_partitions() and self._shared.is_on_disk)
        )

    def is_blocked(self, waker: Waker) -> BlockingReason | None:
        waker.wait_for(self._shared.bridge.ready)
        if self._shared.spill is not None:
            waker.wait_for(self._shared.spill.complete)
        if not self._shared.bridge.is_ready():
            return BlockingReason.JOIN_BUILD
        return BlockingReason.JOIN_PROBE if self._awaits_partitions() else None

    def _awaits_partitions(self) -> bool:
        """Return whether this driver will join partitions when all drivers have spilled their rows."""
        return self._has_arrived and self._spilled is not None and not self._is_restored

    def pull_chunk(self) -> Chunk | None:
        accumulator = self._accumulator
        if accumulator is None:
            return self._next()
        if not accumulator.has_chunk():
            self._add_next(accumulator)
        return accumulator.take() if accumulator.has_chunk() else None

    def _add_next(self, accumulator: EarlyAccumulator) -> None:
        """Add the next piece to the accumulator. An error is raised after the accumulated rows have left."""
        try:
            made = self._next()
        except SparkConditionError as error:
            self._work = None
            accumulator.fail(error)
            return
        if made is not None:
            accumulator.add(made)

    def release(self) -> None:
        if self._accumulator is not None:
            self._accumulator.flush()

    def _next(self) -> Chunk | None:
        """Return the next piece of output; None if the step made no rows or was the last."""
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
        is_over = self._finishing or self._shared.is_output_empty
        return is_over and not self._awaits_partitions() and not self.has_output()

    def set_finished(self) -> None:
        self._finishing = True
        self._discard()
        if not self._has_ended:
            self._has_ended = True
            self._shared.abandon_probe()

    def close(self) -> None:
        self._discard()
        self._side = None
        if self._spilled is not None:
            self._spilled.close()
        self.context.memory.reserve(0)
        self._shared.close_probe()

    def _discard(self) -> None:
        self._work = None
        self._is_restored = True
        if self._accumulator is not None:
            self._accumulator.clear()

    def _side_probe(self, side: BuildSide) -> SideProbe:
        if self._side is None:
            shared = self._shared
            self._side = SideProbe(shared, self._expressions, side, shared.matched, self.context.metrics)
        return self._side

    def _spilled_probe(self, spill: JoinSpill) -> SpilledProbe:
        if self._spilled is None:
            self._spilled = SpilledProbe(self._shared, spill, self._expressions, self.context)
        return self._spilled

    def _finish(self) -> None:
        """Flush after all chunks are joined or spilled; the first call arrives at the barrier."""
        if not self._has_arrived:
            self._has_arrived = True
            self._arrive()
        if self._work is None and self._accumulator is not None:
            self._accumulator.flush()

    def _arrive(self) -> None:
        """Publish the spilled rows and arrive at the barrier; the last driver starts the output after all chunks."""
        built = self._shared.bridge.peek()
        if isinstance(built, JoinSpill):
            self._spilled_probe(built).finish()
        if not self._shared.finish_probe(self._sequence):
            return
        if isinstance(built, JoinSpill):
            built.publish_partitions()
        elif built is not None and self._shared.matched is not None:
            self._work = self._side_probe(built).build_side_output()


_DONE = pa.RecordBatch.from_arrays([], names=[])


class JoinProbeFactory(OperatorFactory):
    """Creates the probes, which are blocked until the build side is built."""

    def __init__(self, shared: SharedJoinState, name: str) -> None:
        self.name = name
        self._shared = self.shared_state = shared

    def create(self, dop: int, driver_sequence: int) -> JoinProbeOperator:
        self._shared.expect_probes(dop)
        return JoinProbeOperator(self._shared, driver_sequence)

    def precondition_ready(self) -> bool:
        return self._shared.bridge.is_ready()
