"""The rows of a task that Spark aggregates in a hash map of objects, before it sorts the others by group."""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Int64Array

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

    def count(self, groups: Int64Array) -> int:
        """Return how many of the next rows, of ``groups``, come before Spark sorts the others."""
        hashed = self._count(groups)
        self.is_exceeded |= hashed < groups.size
        return hashed

    def _count(self, groups: Int64Array) -> int:
        if self._is_full:
            return 0
        last = np.flatnonzero(groups == HASHED_GROUPS - 1)[:1]
        self._is_full = last.size > 0
        return int(last[0]) + 1 if self._is_full else groups.size
