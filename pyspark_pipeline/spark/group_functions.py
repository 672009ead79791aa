"""Calls of functions of groups, whose results are converted many at once where the outcome is the same.

Spark's worker makes a frame of the series of each group, and a series or an array of each result. For groups of few
rows that is most of the time. So functions that map groups in pandas, or aggregate groups, are called by this module,
with the same arguments, checks and results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa

from pyspark_pipeline.operators.python_functions.calls import Group
from pyspark_pipeline.plan.python_functions import BatchLimits
from pyspark_pipeline.spark.pandas_groups import PandasGroups

#: The most results that are converted together.
_MOST_MERGED = 256
#: Kinds of numpy types whose values Spark's conversion to Arrow treats one by one: numbers, booleans, timestamps.
_BY_VALUE = "biufM"
#: Types of values of which a series or an array of several has the type of one of a single; integers of 64 bits, too.
_ALIKE = (float, bool, str, np.float64, np.int64, np.bool_)
_ALIKE_IN_ARROW = (*_ALIKE, pa.DoubleScalar, pa.Int64Scalar, pa.BooleanScalar, pa.StringScalar)
#: Columns of results, each with its Arrow type where Spark's serializer needs it.
Results = Sequence[tuple[Any, Any]]


class GroupFunctions(Protocol):
    """Functions of one form, called with groups."""

    def results(self, partition: int, data: Iterator[Group]) -> Iterator[Results]:
        """Yield the results for the groups in order, those of several groups as one where that is the same."""
        ...


class WrappedFunctions:
    """Functions as Spark wraps them, from a partition and lists of series to results."""

    def __init__(self, groups: PandasGroups, function: Callable[[int, Iterator[Any]], Iterator[Any]]) -> None:
        self._groups = groups
        self._function = function

    def results(self, partition: int, data: Iterator[Group]) -> Iterator[Results]:
        return _merged_results(self._function(partition, map(self._groups.columns, data)))


class MapFunction:
    """A function of ``applyInPandas``: gets a frame, after the keys if it takes them; ``verify`` checks its result.

    ``offsets`` are numbers of Spark's: how many follow, how many keys, their ordinals and those of the other columns.
    """

    def __init__(
        self,
        groups: PandasGroups,
        offsets: Sequence[int],
        function: Callable[..., Any],
        *,
        takes_keys: bool,
        verify: Callable[[Any], None],
        arrow_type: Any = None,
    ) -> None:
        self._groups = groups
        first = 2 + offsets[1]
        self._keys, self._columns = tuple(offsets[2:first]), tuple(offsets[first:])
        self._function = function
        self._takes_keys = takes_keys
        self._verify = verify
        self._verified: tuple[Any, ...] | None = None  # names of columns; of a frame, the rest does not matter
        self._arrow_type = arrow_type

    def results(self, partition: int, data: Iterator[Group]) -> Iterator[Results]:
        return _merged_results([(self._call(group), self._arrow_type)] for group in data)

    def _call(self, group: Group) -> Any:
        keys = [self._groups.first_values(group, self._keys)] if self._takes_keys else []
        result = self._function(*keys, self._groups.frame(group, self._columns))
        names = tuple(result.columns) if type(result) is pd.DataFrame else None
        if names is None or names != self._verified:
            self._verify(result)
            self._verified = names
        return result


class AggregateFunctions:
    """Functions that return a value for the columns of a group, which ``columns`` returns.

    ``calls`` are the functions with the ordinals of the columns that they get, ``types`` those of their results. A
    series or an array is made by ``make`` of several values if all have one of the types ``alike``.
    """

    def __init__(
        self,
        columns: Callable[[Group], Sequence[Any]],
        make: Callable[[list[Any]], Any],
        alike: Sequence[type],
        calls: Sequence[tuple[Callable[..., Any], Sequence[int]]],
        types: Sequence[Any],
    ) -> None:
        self._columns = columns
        self._make = make
        self._alike = frozenset(alike)
        self._calls = calls
        self._types = types

    def results(self, partition: int, data: Iterator[Group]) -> Iterator[Results]:
        return map(self._merged, _runs(map(self._call, data)))

    def _call(self, group: Group) -> tuple[list[Any], Any]:
        """Return the values for a group and their types; None instead of the types if they are not merged."""
        columns = self._columns(group)
        values = [function(*[columns[i] for i in read]) for function, read in self._calls]
        return values, [type(value) for value in values] if all(map(self._is_alike, values)) else None

    def _is_alike(self, value: Any) -> bool:
        kind = type(value)
        return kind in self._alike or (kind is int and -(1 << 63) <= value < 1 << 63)

    def _merged(self, results: list[list[Any]]) -> Results:
        columns = zip(zip(*results, strict=True), self._types, strict=True)
        return [(self._make(list(values)), type_) for values, type_ in columns]


def aggregate_series(groups: PandasGroups, calls: Sequence[Any], types: Sequence[Any]) -> AggregateFunctions:
    """Return the functions of ``pandas_udf`` that aggregate groups, see :class:`AggregateFunctions`."""
    return AggregateFunctions(groups.columns, pd.Series, _ALIKE, calls, types)


def aggregate_arrays(limits: BatchLimits, calls: Sequence[Any], types: Sequence[Any]) -> AggregateFunctions:
    """Return the functions of ``arrow_udf`` that aggregate groups, see :class:`AggregateFunctions`."""

    def columns(group: Group) -> Sequence[pa.Array]:
        ((rows, start, stop), *others) = group.parts
        if others:
            return list(pa.concat_batches(group.batches(limits)).columns)
        return [column.slice(start, stop - start) for column in rows.columns]

    return AggregateFunctions(columns, pa.array, _ALIKE_IN_ARROW, calls, types)


def _merged_results(results: Iterable[Any]) -> Iterator[Results]:
    """Yield the results of functions for groups, for Spark's serializer: successive ones of the same types as one.

    A result is a pair of a series or frame and its Arrow type, or a sequence of such pairs.
    """
    return map(_merged, _runs((pairs, _types(pairs)) for pairs in map(_pairs, results)))


def _pairs(result: Any) -> Sequence[tuple[Any, Any]]:
    is_pair = isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], pa.DataType)
    return [result] if is_pair else list(result)


def _runs(results: Iterable[tuple[Any, Any]]) -> Iterator[list[Any]]:
    """Yield lists of successive results of equal types; a result whose types are None is in a list by itself."""
    pending: list[Any] = []
    types: Any = None
    try:
        for result, found in results:
            if pending and (found is None or found != types or len(pending) == _MOST_MERGED):
                yield pending
                pending = []
            types = found
            pending.append(result)
    except Exception:
        if pending:  # if one of these cannot be converted, Spark has failed before the group that raised
            yield pending
        raise
    if pending:
        yield pending


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
