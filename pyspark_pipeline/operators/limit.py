"""Limit: the first rows of this instance after the offset, counted over all its drivers.

``CollectLimitExec`` is not supported: it collects rows partition by partition on Spark's driver, until it has enough.
"""

from __future__ import annotations

import threading

from pyspark_pipeline.exec.blocking import BlockingReason
from pyspark_pipeline.exec.event import Event, Waker
from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.streaming import StreamingOperator
from pyspark_pipeline.plan.nodes import Limit
from pyspark_pipeline.plan.properties import require_same_columns


class RowQuota:
    """The number of rows still to skip and then to pass, shared by all drivers.

    ``limit`` includes the skipped rows; None passes all rows after them. ``used_up`` is notified when the limit is
    reached, for the drivers that did not take the last row.
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
        """Count ``rows`` more rows; return how many of them to skip, and how many to pass after those."""
        with self._lock:
            first = self._seen
            last = first + rows if self._end is None else min(first + rows, self._end)
            self._seen = max(first, last)
        if self.is_used_up:
            self.used_up.notify()
        skipped = min(max(self._offset - first, 0), rows)
        return skipped, max(last - first - skipped, 0)


class LimitOperator(StreamingOperator):
    """Passes rows until the quota is used up; then it is finished and its driver ends early."""

    def __init__(self, quota: RowQuota) -> None:
        super().__init__()
        self._quota = quota

    def need_input(self) -> bool:
        return not self._quota.is_used_up and super().need_input()

    def is_blocked(self, waker: Waker) -> BlockingReason | None:
        waker.wait_for(self._quota.used_up)
        return None

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


@implements(Limit, execs=["LocalLimitExec", "GlobalLimitExec"], pipeline=["Limit"], requires=require_same_columns)
def decompose_limit(node: Limit, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append a limit to the child's pipeline, before trailing projections, which then evaluate only the rows kept."""
    below = builder.decompose(node.child)
    place = len(below)
    while below[place - 1].maps_rows:
        place -= 1
    return [*below[:place], LimitFactory(node.limit, node.offset), *below[place:]]
