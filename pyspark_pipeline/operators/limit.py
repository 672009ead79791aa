"""Limit: the first rows of this instance, counted over all its drivers."""

from __future__ import annotations

import threading

from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.streaming import StreamingOperator
from pyspark_pipeline.plan.nodes import Limit


class RowQuota:
    """The rows that may still pass, shared by all drivers."""

    def __init__(self, limit: int) -> None:
        self.left = limit
        self._lock = threading.Lock()

    def take(self, rows: int) -> int:
        """Take up to ``rows`` from the quota; give how many were left to take."""
        with self._lock:
            taken = min(rows, self.left)
            self.left -= taken
            return taken


class LimitOperator(StreamingOperator):
    """Lets rows pass until the quota is used up; then it is finished and its driver ends early."""

    def __init__(self, quota: RowQuota) -> None:
        super().__init__()
        self._quota = quota

    def need_input(self) -> bool:
        return self._quota.left > 0 and super().need_input()

    def transform(self, chunk: Chunk) -> Chunk:
        taken = self._quota.take(chunk.num_rows)
        return chunk if taken == chunk.num_rows else chunk.slice(0, taken)

    def is_finished(self) -> bool:
        return self._pending is None and (self._finishing or self._quota.left == 0)


class LimitFactory(OperatorFactory):
    """Holds the quota of one limit."""

    name = "Limit"

    def __init__(self, limit: int) -> None:
        self._quota = RowQuota(limit)

    def create(self, dop: int, driver_sequence: int) -> LimitOperator:
        return LimitOperator(self._quota)


@implements(Limit, execs=["LocalLimitExec", "GlobalLimitExec"], pipeline=["Limit"])
def decompose_limit(node: Limit, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append a limit to the child's pipeline."""
    return [*builder.decompose(node.child), LimitFactory(node.limit)]
