"""Conversion of many groups at once to and from pandas, where the result is that of Spark's conversion of each group.

Spark 4.1 converts the columns of each group, and what a function returns for it, by themselves. For groups of few rows
that is most of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pyspark_pipeline.operators.python_functions.calls import Group
from pyspark_pipeline.plan.python_functions import BatchLimits

#: The most results that are converted together.
_MOST_MERGED = 256
#: Kinds of numpy types whose values Spark's conversion to Arrow treats one by one: numbers, booleans, timestamps.
_BY_VALUE = "biufM"

ToPandas = Callable[[pa.ChunkedArray, int], Any]


class GroupSeries:
    """Converts columns of sorted rows by ``to_pandas`` (Spark's) and cuts the series of groups from these."""

    def __init__(self, to_pandas: ToPandas, limits: BatchLimits) -> None:
        self._to_pandas = to_pandas
        self._limits = limits
        self._rows: pa.RecordBatch | None = None
        self._converted: list[Any] = []

    def series(self, group: Group) -> list[Any]:
        """Return the columns of a group as series."""
        if len(group.parts) > 1 or group.num_rows > self._limits.rows:
            return self._each(group.batches(self._limits))
        ((rows, start, stop),) = group.parts
        if rows is not self._rows:
            self._rows, self._converted = rows, [self._whole(i, column) for i, column in enumerate(_columns([rows]))]
        if None in self._converted:
            each = self._each(group.batches(self._limits))
            return [
                one if whole is None else _cut(whole, start, stop)
                for one, whole in zip(each, self._converted, strict=True)
            ]
        return [_cut(whole, start, stop) for whole in self._converted]

    def _each(self, batches: Sequence[pa.RecordBatch]) -> list[Any]:
        return [self._to_pandas(column, i) for i, column in enumerate(_columns(batches))]

    def _whole(self, i: int, column: pa.ChunkedArray) -> tuple[Any, Any] | None:
        """Return the values of a column and its name; None if the type of a group's series depends on its values."""
        kind = column.type
        if pa.types.is_nested(kind) or (column.null_count and (pa.types.is_integer(kind) or pa.types.is_boolean(kind))):
            return None
        series = self._to_pandas(column, i)
        is_plain = isinstance(series, pd.Series) and isinstance(series.dtype, np.dtype)
        return (series.to_numpy(), series.name) if is_plain else None


def _columns(batches: Sequence[pa.RecordBatch]) -> Sequence[pa.ChunkedArray]:
    return list(pa.Table.from_batches(batches).itercolumns())


def _cut(column: tuple[Any, Any], start: int, stop: int) -> Any:
    values, name = column
    return pd.Series(values[start:stop], name=name)


def merged_results(results: Iterator[Any]) -> Iterator[Any]:
    """Yield the results of functions for groups, for Spark's serializer: successive ones of the same types as one.

    A result is a pair of a series or frame and its Arrow type, or a sequence of such pairs.
    """
    pending: list[list[tuple[Any, Any]]] = []
    types: Any = None
    try:
        for result in results:
            pairs = (
                [result]
                if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], pa.DataType)
                else list(result)
            )
            found = _types(pairs)
            if pending and (found is None or found != types or len(pending) == _MOST_MERGED):
                yield _merged(pending)
                pending = []
            types = found
            pending.append(pairs)
    except Exception:
        if pending:  # if one of these cannot be converted, Spark has failed before the group that raised
            yield _merged(pending)
        raise
    if pending:
        yield _merged(pending)


def _types(pairs: Sequence[tuple[Any, Any]]) -> Any:
    """Return the names and numpy types of the results; None if one of them must be converted by itself."""
    found: list[Any] = []
    for value, _ in pairs:
        if isinstance(value, pd.DataFrame):
            if not len(value.columns) or not value.columns.is_unique:
                return None
            found.append(tuple(value.columns))
            found.extend(value[name].dtype for name in value.columns)
        else:
            found.append(value.dtype)
    is_by_value = all(
        isinstance(kind, tuple) or (isinstance(kind, np.dtype) and kind.kind in _BY_VALUE) for kind in found
    )
    return found if is_by_value else None


def _merged(results: Sequence[Sequence[tuple[Any, Any]]]) -> list[tuple[Any, Any]]:
    if len(results) == 1:
        return list(results[0])
    return [(_concatenated([value for value, _ in column]), column[0][1]) for column in zip(*results, strict=True)]


def _concatenated(values: Sequence[Any]) -> Any:
    if isinstance(values[0], pd.DataFrame):
        names = list(values[0].columns)
        return pd.DataFrame({name: np.concatenate([value[name].to_numpy() for value in values]) for name in names})
    return pd.Series(np.concatenate([value.to_numpy() for value in values]), name=values[0].name)
