"""COUNT: rows whose arguments are all not NULL."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.accumulate import add_longs, count_rows, count_valid
from pyspark_pipeline.kernels.buffers import Array, fixed_array, validity, values
from pyspark_pipeline.operators.aggregates.registry import AggregateFunction, aggregate
from pyspark_pipeline.operators.aggregates.state import PerGroup, State, StatePool
from pyspark_pipeline.plan.expr import Literal
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

ANY_KIND = [
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double",
    "decimal", "string", "binary", "date", "timestamp", "timestamp_ntz", "void",
]  # fmt: skip


class CountState(State):
    """Counts rows whose columns are all valid; without columns, all rows."""

    def __init__(self) -> None:
        self.counts = PerGroup(np.int64)
        self._seen = PerGroup(np.uint8)
        self.arrays = (self.counts, self._seen)

    def update(self, groups: Array, columns: Sequence[pa.Array]) -> None:
        nullable = [column for column in columns if column.null_count]
        if not nullable:
            count_rows(groups, self.counts.array)
            return
        if len(nullable) == 1:
            column = nullable[0]
            if pa.types.is_null(column.type):
                return
            bitmap, skip = validity(column.indices if pa.types.is_dictionary(column.type) else column)
            count_valid(groups, bitmap, skip, self.counts.array)
            return
        valid = np.logical_and.reduce([np.asarray(column.is_valid()) for column in nullable])
        count_rows(groups[valid], self.counts.array)

    def merge(self, groups: Array, counts: pa.Array) -> None:
        """Add partial counts."""
        add_longs(groups, values(counts), *validity(counts), self.counts.array, self._seen.array)

    def column(self, start: int, stop: int) -> pa.Array:
        """Give the counts as bigint, never NULL."""
        return fixed_array(pa.int64(), self.counts.part(start, stop).copy())


@aggregate("Count", [{"args": [ANY_KIND], "variadic": True}], when=lambda call: True)
class Count(AggregateFunction):
    """``count(*)`` comes as ``count(1)``; a literal that is not NULL is no condition."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        counted = tuple(arg for arg in call.args if not (isinstance(arg, Literal) and arg.value is not None))
        self._state = self.state(CountState, "count", arguments=counted)

    def merge(self, groups: Array, buffers: Sequence[pa.Array]) -> None:
        self._state.merge(groups, buffers[0])

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return [self._state.column(start, stop)]

    def result(self, start: int, stop: int) -> pa.Array:
        return self._state.column(start, stop)
