"""Sums of year-month intervals: of months in 32 bits, which overflow as those of 64 bits do if shifted by 32."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import BoolArray, Int32Array, Int64Array
from pyspark_pipeline.kernels.buffers import fixed_array, values
from pyspark_pipeline.operators.aggregation.functions.sum_states import LongSumState, TryLongSumState

_SHIFT = 32


class MonthSumState(LongSumState):
    """Sums of months. An overflow of 32 bits raises the error."""

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        super().update(groups, [_shifted(columns[0])])

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        super().scan(starts, [_shifted(columns[0])])

    def over(self, begin: Int64Array, end: Int64Array, columns: Sequence[pa.Array]) -> None:
        super().over(begin, end, [_shifted(columns[0])])

    def sums(self, start: int, stop: int) -> Int32Array:
        """Return the sums, 0 for a group without a value."""
        sums: Int32Array = (super().sums(start, stop) >> _SHIFT).astype(np.int32)
        return sums

    def column(self, start: int, stop: int) -> pa.Array:
        return _unshifted(super().column(start, stop))


class TryMonthSumState(TryLongSumState):
    """Sums of months; a sum that overflows 32 bits after any row remains overflowed."""

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        super().update(groups, [_shifted(columns[0])])

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        super().scan(starts, [_shifted(columns[0])])

    def merge(self, groups: Int64Array, sums: pa.Array, empty: pa.Array) -> None:
        super().merge(groups, _shifted(sums), empty)

    def column(self, start: int, stop: int, *, empty_is_null: bool) -> pa.Array:
        return _unshifted(super().column(start, stop, empty_is_null=empty_is_null))


def _valid(column: pa.Array) -> BoolArray | None:
    return np.asarray(column.is_valid()) if column.null_count else None


def _shifted(months: pa.Array) -> pa.Array:
    return fixed_array(pa.int64(), values(months).astype(np.int64) << _SHIFT, _valid(months))


def _unshifted(sums: pa.Array) -> pa.Array:
    return fixed_array(pa.int32(), (values(sums) >> _SHIFT).astype(np.int32), _valid(sums))
