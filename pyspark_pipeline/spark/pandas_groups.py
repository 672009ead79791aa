"""Conversion of many groups at once to pandas, where the result is that of Spark's conversion of each group.

Spark converts the columns of each group by themselves. For groups of few rows that is much of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pyspark_pipeline.operators.python_functions.calls import Group
from pyspark_pipeline.plan.python_functions import BatchLimits

#: From a table and the ordinal of a column to its series.
ToPandas = Callable[[pa.Table, int], Any]


class PandasGroups:
    """Converts columns of sorted rows by ``to_pandas`` (Spark's) and cuts series and frames of groups from these."""

    def __init__(self, to_pandas: ToPandas, limits: BatchLimits) -> None:
        self._to_pandas = to_pandas
        self._limits = limits
        self._rows: pa.RecordBatch | None = None
        self._converted: list[Any] = []  # series; None for columns that are converted by group
        self._is_whole = True  # none of them is None
        self._frames: dict[tuple[int, ...], Any] = {}  # of converted columns, by their ordinals

    def columns(self, group: Group) -> list[Any]:
        """Return the columns of a group as series."""
        found = self._find(group)
        if found is None:
            return self._each(group)
        start, stop = found
        if not self._is_whole:
            return [
                one if whole is None else _cut(whole, start, stop)
                for one, whole in zip(self._each(group), self._converted, strict=True)
            ]
        return [_cut(whole, start, stop) for whole in self._converted]

    def frame(self, group: Group, columns: tuple[int, ...]) -> Any:
        """Return the columns of a group with these ordinals as a frame of its own."""
        found = self._find(group)
        if found is None or any(self._converted[i] is None for i in columns):
            series = self.columns(group)
            return pd.concat([series[i] for i in columns], axis=1)
        if columns not in self._frames:
            self._frames[columns] = pd.concat([self._converted[i] for i in columns], axis=1)
        start, stop = found
        frame = self._frames[columns].iloc[start:stop].copy()
        frame.index = pd.RangeIndex(stop - start)
        return frame

    def first_values(self, group: Group, columns: tuple[int, ...]) -> tuple[Any, ...]:
        """Return the values of a group's first row in the columns with these ordinals."""
        found = self._find(group)
        if found is None or any(self._converted[i] is None for i in columns):
            series = self.columns(group)
            return tuple(series[i][0] for i in columns)
        return tuple(self._converted[i].iloc[found[0]] for i in columns)

    def _find(self, group: Group) -> tuple[int, int] | None:
        """Convert the batch with all rows of the group; return its range in it, None if it is converted by itself."""
        if len(group.parts) > 1 or group.num_rows > self._limits.rows:
            return None
        ((rows, start, stop),) = group.parts
        if rows is not self._rows:
            self._rows, self._frames = rows, {}
            table = pa.Table.from_batches([rows])
            self._converted = [self._whole(table, i) for i in range(table.num_columns)]
            self._is_whole = all(column is not None for column in self._converted)
        return start, stop

    def _each(self, group: Group) -> list[Any]:
        table = pa.Table.from_batches(group.batches(self._limits))
        return [self._to_pandas(table, i) for i in range(table.num_columns)]

    def _whole(self, table: pa.Table, i: int) -> Any:
        """Return a column as a series; None if the type of a group's series depends on its values."""
        column = table.column(i)
        kind = column.type
        if pa.types.is_nested(kind) or (column.null_count and (pa.types.is_integer(kind) or pa.types.is_boolean(kind))):
            return None
        series = self._to_pandas(table, i)
        return series if isinstance(series, pd.Series) and isinstance(series.dtype, np.dtype) else None


def _cut(whole: Any, start: int, stop: int) -> Any:
    return pd.Series(whole.to_numpy()[start:stop], name=whole.name)
