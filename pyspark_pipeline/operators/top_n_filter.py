"""Which rows of a chunk may still be among the first, judged by the first sort key alone."""

from __future__ import annotations

import math

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.plan.sorts import SortKey


class WorstKey:
    """The first key of the worst row kept: a row that sorts after it by that key is of no use.

    ``value`` holds one row, strings plain. ``drops_any`` is false where no row can sort after it.
    """

    def __init__(self, key: SortKey, value: pa.Array) -> None:
        self._descending = key.descending
        self._nulls_first = key.nulls_first
        self._worst: pa.Scalar = value[0]
        self._is_floating = pa.types.is_floating(value.type)
        self._is_nan = self._is_floating and self._worst.is_valid and math.isnan(self._worst.as_py())

    @property
    def drops_any(self) -> bool:
        """Whether some row could be of no use."""
        return self._worst.is_valid or self._nulls_first

    def may_stay(self, column: pa.Array) -> pa.BooleanArray:
        """Say of each row's first key whether it is not after the worst. Only where ``drops_any``."""
        if isinstance(column, pa.DictionaryArray):
            stays = pc.take(self.may_stay(column.dictionary), column.indices)
            return pc.fill_null(stays, self._nulls_first)
        if not self._worst.is_valid:
            return pc.is_null(column)
        return pc.fill_null(self._not_after(column), self._nulls_first)

    def _not_after(self, column: pa.Array) -> pa.BooleanArray:
        """Compare values (NULL gives NULL); NaN is the largest number."""
        if not self._is_floating:
            compare = pc.greater_equal if self._descending else pc.less_equal
            return compare(column, self._worst)
        if self._is_nan:
            return pc.is_nan(column) if self._descending else pc.or_(pc.is_nan(column), pc.equal(column, column))
        if self._descending:
            return pc.or_(pc.is_nan(column), pc.greater_equal(column, self._worst))
        return pc.less_equal(column, self._worst)
