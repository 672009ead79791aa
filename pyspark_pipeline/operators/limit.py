"""Limit: the first rows of this instance, without those the offset skips, counted over all its drivers.

``CollectLimitExec`` is not among them: it takes rows partition after partition on the driver, until it has enough.
"""

from __future__ import annotations

import threading

from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.event import Event
from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.streaming import StreamingOperator
from pyspark_pipeline.plan.nodes import Limit


class RowQuota:
    """The rows still to be skipped and those that may then still pass, shared by all drivers.

    ``limit`` counts the skipped rows too; None lets everything after them pass. ``used_up`` tells the drivers that
    have not taken the last row.
    """

    def __init__(self, limit: int | None, offset: int = 0) -> None:
        self.used_up = Event("a limit is reached")
        self._end = limit
        self._offset = offset
        self._seen = 0
        self._lock = threading.Lock()

    @property
    def is_used_up(self) -> bool:
        """Whether no further row may pass."""
        return self._end is not None and self._seen >= max(self._end, 0)

    def take(self, rows: int) -> tuple[int, int]:
        """Count ``rows`` more rows; give how many of them are to be skipped, and how many pass after those."""
        with self._lock:
            first = self._seen
            last = first + rows if self._end is None else min(first + rows, self._end)
            self._seen = max(first, last)
        if self.is_used_up:
            self.used_up.notify()
        skipped = min(max(self._offset - first, 0), rows)
        return skipped, max(last - first - skipped, 0)


class LimitOperator(StreamingOperator):
    """Lets rows pass until the quota is used up; then it is finished and its driver ends early."""

    def __init__(self, quota: RowQuota) -> None:
        super().__init__()
        self._quota = quota

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        context.wake_on(self._quota.used_up)

    def need_input(self) -> bool:
        return not self._quota.is_used_up and super().need_input()

    def transform(self, chunk: Chunk) -> Chunk:
        skipped, passed = self._quota.take(chunk.num_rows)
        return chunk if passed == chunk.num_rows else chunk.slice(skipped, passed)

    def is_finished(self) -> bool:
        return self._pending is None and (self._finishing or self._quota.is_used_up)


class LimitFactory(OperatorFactory):
    """Holds the quota of one limit."""

    name = "Limit"

    def __init__(self, limit: int | None, offset: int = 0) -> None:
        self._quota = RowQuota(limit, offset)

    def create(self, dop: int, driver_sequence: int) -> LimitOperator:
        return LimitOperator(self._quota)


@implements(Limit, execs=["LocalLimitExec", "GlobalLimitExec"], pipeline=["Limit"])
def decompose_limit(node: Limit, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append a limit to the child's pipeline."""
    return [*builder.decompose(node.child), LimitFactory(node.limit, node.offset)]
