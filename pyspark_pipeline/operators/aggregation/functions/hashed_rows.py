"""The rows of a task that Spark aggregates in a hash map of objects, before it sorts the others by group."""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array

#: Once Spark has so many groups it sorts the other rows, aggregates them, and adds what it had to the results.
HASHED_GROUPS = 128
#: The settings by which Spark does so.
OBJECT_HASH_AGGREGATION = {
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": [str(HASHED_GROUPS)],
    "spark.sql.execution.useObjectHashAggregateExec": ["true"],
}


class HashedRows:
    """Counts the hashed rows of an aggregation; ``is_exceeded``: there were others, which Spark sorts."""

    def __init__(self) -> None:
        self.is_exceeded = False
        self._is_full = False
        self._passed: int | None = None

    def filter(self, groups: Int64Array, passed: BoolArray) -> int:
        """Count rows, of which those that ``passed`` a filter are counted next; return how many of these are hashed.

        Rows that do not pass have groups, too.
        """
        hashed = self._count(groups)
        self._passed = int(np.count_nonzero(passed[:hashed]))
        return self._passed

    def count(self, groups: Int64Array) -> int:
        """Return how many of the next rows, of ``groups``, come before Spark sorts the others."""
        if self._passed is None:
            return self._count(groups)
        hashed, self._passed = self._passed, None
        return hashed

    def _count(self, groups: Int64Array) -> int:
        hashed = 0 if self._is_full else groups.size
        last = np.flatnonzero(groups[:hashed] == HASHED_GROUPS - 1)[:1]
        if last.size:
            self._is_full, hashed = True, int(last[0]) + 1
        self.is_exceeded |= hashed < groups.size
        return hashed
