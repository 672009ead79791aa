"""FIRST and LAST (and ANY_VALUE, which is FIRST), with and without IGNORE NULLS, of any type, in row order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.expressions.cases import ALL_KINDS, case
from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array, UInt8Array
from pyspark_pipeline.kernels.buffers import NO_BITS, bits, bool_array, last_true, validity
from pyspark_pipeline.kernels.first_last import first_rows, last_rows
from pyspark_pipeline.kernels.running import run_edges
from pyspark_pipeline.operators.aggregation.functions.registry import FRAMES, AggregateFunction, aggregate
from pyspark_pipeline.operators.aggregation.functions.row_values import RowValueState
from pyspark_pipeline.operators.aggregation.functions.state import PerGroup, StatePool, updated, warm_up
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

_CASES = [case(ALL_KINDS, fields={"ignoreNulls": ["true", "false"]}, frames=FRAMES)]


class EdgeState(RowValueState):
    """The value of the first or of the last row of every group; the kernel ``select`` selects the rows of a chunk."""

    def __init__(self, kind: DataType, select: Callable[..., int], *, ignore_nulls: bool) -> None:
        super().__init__(kind, PerGroup(np.uint8))
        self.reads_some_rows = select is first_rows
        self._select = select
        self._ignore_nulls = ignore_nulls

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        column = columns[0]
        if not self._ignore_nulls:
            self._append(groups, column, NO_BITS, 0)
        elif column.null_count < len(column):
            self._append(groups, column, *validity(column))

    def rows_read(self, groups: Int64Array, columns: Sequence[pa.Array]) -> BoolArray:
        """Return the first row of each group without a value; with IGNORE NULLS all rows of such groups."""
        if self._ignore_nulls:
            unset: BoolArray = self._seen.array[groups] == 0
            return unset
        read = np.zeros(groups.size, dtype=np.bool_)
        rows = np.empty(groups.size, dtype=np.int64)
        seen, place = self._seen.array.copy(), self._place.array.copy()
        read[rows[: self._select(groups, NO_BITS, 0, seen, place, 0, rows)]] = True
        return read

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        column = columns[0]
        wanted = np.array(column.is_valid()) if self._ignore_nulls else np.ones(len(column), dtype=np.bool_)
        self._hold_scanned(column)
        self._place.array[0] = 0
        self.run(starts, wanted)

    def run(self, starts: BoolArray, wanted: BoolArray) -> None:
        """Set the positions after each row, the row + 1; position 0 is the value before the rows."""
        run_edges(starts, wanted, self._select is last_rows, self._seen.array, self._place.array)

    def over(self, begin: Int64Array, end: Int64Array, columns: Sequence[pa.Array]) -> None:
        rows = self.rows_of_frames(begin, end, columns[0])
        self._held, self._rows = [columns[0]], len(columns[0])
        self._place.array[: begin.size] = np.maximum(rows, 0)
        self._seen.array[: begin.size] = rows >= 0

    def rows_of_frames(self, begin: Int64Array, end: Int64Array, column: pa.Array) -> Int64Array:
        """Return the row of each frame whose value is that of the frame, −1 if it has none; int64."""
        rows, at = len(column), begin
        if self._select is last_rows:
            at = end - 1
            if self._ignore_nulls and rows:
                at = last_true(np.asarray(column.is_valid()))[at]
        elif self._ignore_nulls and rows:
            following = rows - 1 - last_true(np.asarray(column.is_valid())[::-1])[::-1]
            at = following[np.minimum(begin, rows - 1)]
        return np.where((begin < end) & (at >= begin) & (at < end), at, -1)

    def merge(self, groups: Int64Array, column: pa.Array, is_set: pa.Array) -> None:
        """Merge partial values; only those that are set count."""
        self._append(groups, column, *bits(is_set))

    def _append(self, groups: Int64Array, column: pa.Array, bitmap: UInt8Array, skip: int) -> None:
        rows = np.empty(groups.size, dtype=np.int64)
        count = self._select(groups, bitmap, skip, self._seen.array, self._place.array, self._rows, rows)
        self._hold(column, rows[:count])

    def is_set(self, start: int, stop: int) -> pa.Array:
        """Return which groups have a row; boolean."""
        return bool_array(self._seen.part(start, stop) != 0)


class _Edge(AggregateFunction):
    """The buffer is (value, whether it is set)."""

    select: Callable[..., int]

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        ignore_nulls = bool(call.fields["ignoreNulls"])
        select = type(self).select
        self.is_known_at_first_row = select is first_rows and not ignore_nulls
        self._state = self.state(
            lambda: EdgeState(call.type, select, ignore_nulls=ignore_nulls), type(self), call.type, ignore_nulls
        )

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        self._state.merge(groups, *buffers)

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return [self._state.column(start, stop), self._state.is_set(start, stop)]

    def result(self, start: int, stop: int) -> pa.Array:
        return self._state.column(start, stop)


@aggregate("First", _CASES)
class First(_Edge):
    """The value of the first row, or of the first row that is not NULL."""

    select = first_rows


@aggregate("Last", _CASES)
class Last(_Edge):
    """The value of the last row, or of the last row that is not NULL."""

    select = last_rows


@warm_up
def _load_kernels() -> None:
    for select in (first_rows, last_rows):
        updated(EdgeState(parse_type("bigint"), select, ignore_nulls=True), pa.array([1, None]))
