"""The sink of a join's build pipeline: keeps every chunk; the last driver makes the table of all, or spills all."""

from __future__ import annotations

from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.operators.joins.build_part import BuildPart
from pyspark_pipeline.operators.joins.shared import NULL_KEYS, JoinShared

BUILD_ROWS = declare_counter("join_build_rows", "Rows of the built side of a join", unit="rows")


class JoinBuildOperator(Operator):
    """Collects the chunks of one driver."""

    def __init__(self, shared: JoinShared, driver_sequence: int) -> None:
        self._shared = shared
        self._sequence = driver_sequence
        self._part: BuildPart | None = shared.part()
        self._finishing = False

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        context.wake_on(self._shared.unwanted)
        if self._shared.spill is not None:
            context.offer(self._shared.spill.revocable)

    def need_input(self) -> bool:
        return not self._finishing and not self._shared.is_unwanted

    def push_chunk(self, chunk: Chunk) -> None:
        if self._part is not None:
            self._part.add(chunk, self.context)

    def revoke(self) -> None:
        if self._part is not None:
            self._shared.revoke(self._part, self.context)

    def set_finishing(self) -> None:
        self._finishing = True
        part, self._part = self._part, None
        if part is not None:
            nulls = part.collector.null_keys
            built = self._shared.hand_in(self._sequence, part, self.context)
            self.context.metrics.add(BUILD_ROWS, built)
            self.context.metrics.add(NULL_KEYS, nulls)

    def is_finished(self) -> bool:
        return self._finishing or self._shared.is_unwanted

    def close(self) -> None:
        part, self._part = self._part, None
        if part is not None:
            part.close()
        self.context.memory.hold(0)


class JoinBuildFactory(OperatorFactory):
    """Makes the sinks."""

    def __init__(self, shared: JoinShared, name: str) -> None:
        self.name = name
        self._shared = self.meeting_place = shared

    def create(self, dop: int, driver_sequence: int) -> JoinBuildOperator:
        self._shared.expect_builders(dop)
        return JoinBuildOperator(self._shared, driver_sequence)
