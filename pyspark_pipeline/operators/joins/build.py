"""The sink of a join's build pipeline: collects all chunks; the last driver builds the table, or spills all rows."""

from __future__ import annotations

from pyspark_pipeline.exec.blocking import BlockingReason
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.event import Waker
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.operators.joins.local_build import LocalBuild
from pyspark_pipeline.operators.joins.shared import NULL_KEYS, SharedJoinState

BUILD_ROWS = declare_counter("join_build_rows", "Rows of the built side of a join", unit="rows")


class JoinBuildOperator(Operator):
    """Collects the chunks of one driver."""

    def __init__(self, shared: SharedJoinState, driver_sequence: int) -> None:
        self._shared = shared
        self._sequence = driver_sequence
        self._local_build: LocalBuild | None = shared.local_build()
        self._finishing = False

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        if self._shared.spill is not None:
            context.register_reclaimable(self._shared.spill.reclaimable)

    def need_input(self) -> bool:
        return not self._finishing and not self._shared.is_abandoned

    def is_blocked(self, waker: Waker) -> BlockingReason | None:
        waker.wait_for(self._shared.abandoned)
        return None

    def push_chunk(self, chunk: Chunk) -> None:
        if self._local_build is not None:
            self._local_build.add(chunk, self.context)

    def reclaim(self) -> None:
        if self._local_build is not None:
            self._shared.reclaim(self._local_build, self.context)

    def set_finishing(self) -> None:
        self._finishing = True
        build, self._local_build = self._local_build, None
        if build is not None:
            nulls = build.collector.null_keys
            built = self._shared.finish_build(self._sequence, build, self.context)
            self.context.metrics.add(BUILD_ROWS, built)
            self.context.metrics.add(NULL_KEYS, nulls)

    def is_finished(self) -> bool:
        return self._finishing or self._shared.is_abandoned

    def close(self) -> None:
        build, self._local_build = self._local_build, None
        if build is not None:
            build.close()
        self.context.memory.reserve(0)


class JoinBuildFactory(OperatorFactory):
    """Creates the sinks."""

    def __init__(self, shared: SharedJoinState, name: str) -> None:
        self.name = name
        self._shared = self.shared_state = shared

    def create(self, dop: int, driver_sequence: int) -> JoinBuildOperator:
        self._shared.expect_builders(dop)
        return JoinBuildOperator(self._shared, driver_sequence)
