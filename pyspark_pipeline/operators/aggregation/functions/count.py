"""COUNT: rows whose arguments are all not NULL."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions.cases import ALL_KINDS, case
from pyspark_pipeline.kernels.accumulate import add_longs, count_rows, count_valid
from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array
from pyspark_pipeline.kernels.buffers import copied, fixed_array, validity, values
from pyspark_pipeline.kernels.running import run_counts
from pyspark_pipeline.operators.aggregation.functions.registry import FRAMES, AggregateFunction, aggregate
from pyspark_pipeline.operators.aggregation.functions.state import (
    Groups,
    PerGroup,
    State,
    StatePool,
    frame_counts,
    known_rows,
    updated,
    warm_up,
)
from pyspark_pipeline.plan.expr import Literal
from pyspark_pipeline.plan.nodes import AggregateCall, Settings


class CountState(State):
    """Counts rows whose columns are all valid; without columns, all rows."""

    def __init__(self) -> None:
        self.counts = PerGroup(np.int64)
        self._seen = PerGroup(np.uint8)
        self.arrays = (self.counts, self._seen)

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        nullable = [column for column in columns if column.null_count]
        if not nullable:
            count_rows(groups, self.counts.array)
            return
        if len(nullable) == 1:
            column = nullable[0]
            if pa.types.is_null(column.type):
                return
            known = column.indices if pa.types.is_dictionary(column.type) else column
            some, _, bitmap, skip = known_rows(groups, groups, known)
            count_valid(some, bitmap, skip, self.counts.array)
            return
        valid = np.logical_and.reduce([np.asarray(column.is_valid()) for column in nullable])
        count_rows(groups[valid], self.counts.array)

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        run_counts(starts, _all_valid(starts.size, columns), self.counts.array)

    def over(self, begin: Int64Array, end: Int64Array, columns: Sequence[pa.Array]) -> None:
        rows = int(end.max())
        counts = frame_counts(_all_valid(rows, columns), begin, end) if columns else end - begin
        self.counts.array[: begin.size] = counts

    def merge(self, groups: Int64Array, counts: pa.Array) -> None:
        """Add partial counts."""
        add_longs(groups, values(counts), *validity(counts), self.counts.array, self._seen.array)

    def column(self, start: int, stop: int) -> pa.Array:
        """Return the counts as bigint, never NULL."""
        return fixed_array(pa.int64(), copied(self.counts.part(start, stop)))


class WholeCountState(CountState):
    """The count of an aggregation without keys."""

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        nullable = [column for column in columns if column.null_count]
        if len(nullable) <= 1:
            self.counts.array[0] += groups.size - sum(column.null_count for column in nullable)
        else:
            self.counts.array[0] += np.count_nonzero(_all_valid(groups.size, nullable))


def count_state(groups: Groups) -> CountState:
    """Build the state for a count of rows."""
    return WholeCountState() if groups is Groups.ONE else CountState()


def _all_valid(rows: int, columns: Sequence[pa.Array]) -> BoolArray:
    """Return which of the first ``rows`` rows are valid in all columns."""
    valid = np.ones(rows, dtype=np.bool_)
    for column in columns:
        if column.null_count:
            valid &= np.asarray(column.is_valid())[:rows]
    return valid


@warm_up
def _load_kernels() -> None:
    column = pa.array([1, None], pa.int64())
    updated(CountState(), column)
    updated(CountState(), column.drop_null()).merge(np.zeros(2, dtype=np.int64), column)


@aggregate("Count", [case(ALL_KINDS, variadic=True, frames=FRAMES)])
class Count(AggregateFunction):
    """The number of rows whose arguments are not NULL.

    Spark plans ``count(*)`` as ``count(1)``; literals that are not NULL are ignored.
    """

    ignores_order = True

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        counted = tuple(arg for arg in call.args if not (isinstance(arg, Literal) and arg.value is not None))
        self._state = self.state(lambda: count_state(pool.groups), "count", arguments=counted)

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        self._state.merge(groups, buffers[0])

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return [self._state.column(start, stop)]

    def result(self, start: int, stop: int) -> pa.Array:
        return self._state.column(start, stop)
