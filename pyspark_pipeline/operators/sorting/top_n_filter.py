"""A filter for rows that cannot be among the first, by the first sort key alone."""

from __future__ import annotations

import math

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.plan.sorts import SortKey


class TopNThreshold:
    """The first key of the worst kept row: rows that sort after it by that key are dropped.

    ``value`` holds one row; strings are not dictionary encoded. ``drops_any`` is false if no row can sort after it.
    """

    def __init__(self, key: SortKey, value: pa.Array) -> None:
        self._descending = key.descending
        self._nulls_first = key.nulls_first
        self._value: pa.Scalar = value[0]
        self._is_floating = pa.types.is_floating(value.type)
        self._is_nan = self._is_floating and self._value.is_valid and math.isnan(self._value.as_py())

    @property
    def drops_any(self) -> bool:
        """Whether some row can sort after the threshold."""
        return self._value.is_valid or self._nulls_first

    def keeps(self, column: pa.Array) -> pa.BooleanArray:
        """Return a mask of the first keys that do not sort after the threshold. Requires ``drops_any``."""
        if isinstance(column, pa.DictionaryArray):
            stays = pc.take(self.keeps(column.dictionary), column.indices)
            return pc.fill_null(stays, self._nulls_first)
        if not self._value.is_valid:
            return pc.is_null(column)
        return pc.fill_null(self._not_after(column), self._nulls_first)

    def _not_after(self, column: pa.Array) -> pa.BooleanArray:
        """Compare values (NULL for NULL); NaN is the largest number."""
        if not self._is_floating:
            compare = pc.greater_equal if self._descending else pc.less_equal
            return compare(column, self._value)
        if self._is_nan:
            return pc.is_nan(column) if self._descending else pc.or_(pc.is_nan(column), pc.equal(column, column))
        if self._descending:
            return pc.or_(pc.is_nan(column), pc.greater_equal(column, self._value))
        return pc.less_equal(column, self._value)
