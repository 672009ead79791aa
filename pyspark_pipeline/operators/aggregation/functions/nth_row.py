"""The state of NTH_VALUE: the value of the n-th row of a group, or of its n-th row that is not NULL."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array, UInt8Array
from pyspark_pipeline.kernels.first_last import nth_rows
from pyspark_pipeline.kernels.running import run_nth
from pyspark_pipeline.operators.aggregation.functions.first_last import EdgeState
from pyspark_pipeline.operators.aggregation.functions.state import PerGroup, updated, warm_up


def nth_rows_of_frames(
    begin: Int64Array, end: Int64Array, column: pa.Array, number: int, *, ignore_nulls: bool
) -> Int64Array:
    """Return the row of each frame that is its ``number``-th (from 1), or its such row that is not NULL; −1 if none."""
    if not ignore_nulls or column.null_count == 0:
        rows = begin + (number - 1)
        return np.where(rows < end, rows, -1)
    valid = np.asarray(column.is_valid())
    before = np.append(0, np.cumsum(valid, dtype=np.int64))
    at = before[begin] + (number - 1)
    inside = at < before[end]
    found: Int64Array = np.where(inside, np.append(np.flatnonzero(valid), 0)[np.where(inside, at, -1)], -1)
    return found


class NthState(EdgeState):
    """The value of the n-th row of every group."""

    def __init__(self, kind: DataType, number: int, *, ignore_nulls: bool) -> None:
        super().__init__(kind, self._choose, ignore_nulls=ignore_nulls)
        self._number = number
        self._counts = PerGroup(np.int64)
        self.arrays = (*self.arrays, self._counts)

    def _choose(
        self, groups: Int64Array, bitmap: UInt8Array, skip: int, seen: UInt8Array, place: Int64Array, base: int,
        rows: Int64Array,
    ) -> int:  # fmt: skip
        count: int = nth_rows(groups, bitmap, skip, self._number, self._counts.array, seen, place, base, rows)
        return count

    def run(self, starts: BoolArray, wanted: BoolArray) -> None:
        run_nth(starts, wanted, self._number, self._counts.array, self._seen.array, self._place.array)

    def rows_of_frames(self, begin: Int64Array, end: Int64Array, column: pa.Array) -> Int64Array:
        return nth_rows_of_frames(begin, end, column, self._number, ignore_nulls=self._ignore_nulls)


@warm_up
def _load_kernels() -> None:
    updated(NthState(parse_type("bigint"), 1, ignore_nulls=True), pa.array([1, None]))
