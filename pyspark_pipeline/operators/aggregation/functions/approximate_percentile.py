"""PERCENTILE_APPROX, with Spark's quantile summaries: equal to Spark's values if its rows come as to Spark.

A summary of fewer values than half the accuracy has all of them. Beyond that Spark's own value depends on the order of
the rows, and on the tasks that read them; both values are within the accuracy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.expressions.cases import DAY_TIME, INTEGRAL, NUMERIC, ONE_CORE_A_TASK, YEAR_MONTH, case
from pyspark_pipeline.kernels.arrays import BoolArray, Float64Array, Int64Array
from pyspark_pipeline.kernels.buffers import fixed_array
from pyspark_pipeline.kernels.quantile_summaries import query_samples
from pyspark_pipeline.operators.aggregation.functions.quantile_states import (
    InsertedSummaryState,
    MergedSummaryState,
    Summaries,
    Summary,
)
from pyspark_pipeline.operators.aggregation.functions.registry import AggregateFunction, aggregate
from pyspark_pipeline.operators.aggregation.functions.state import StatePool, warm_up
from pyspark_pipeline.operators.aggregation.functions.value_codes import value_coder
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

_TIMES = ("date", "timestamp", "timestamp_ntz", DAY_TIME, YEAR_MONTH)
_ONE = {"1": "[0-9].*", "2": "[0-9]{1,10}"}
_SEVERAL = {"1": r"\[[0-9][-0-9.E,]*\]", "2": "[0-9]{1,10}"}
#: Doubles hold decimals of so many digits exactly.
_DIGITS = 15
_LIMITS: Any = {"max_precision": _DIGITS, "settings": ONE_CORE_A_TASK}


@aggregate(
    "ApproximatePercentile",
    [
        case([*NUMERIC, *_TIMES], ["double"], INTEGRAL, matches=_ONE, frames=["whole"], **_LIMITS),
        case([*NUMERIC, *_TIMES], ["array"], INTEGRAL, matches=_SEVERAL, **_LIMITS),
    ],
)
class ApproximatePercentile(AggregateFunction):
    """The values at one or several percentages, of the type of the argument; NULL if the group has no value."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._is_array = call.type.kind == "array"
        self._kind = call.arg_types[0]
        given = call.constant(1)
        percentages = np.array(given if self._is_array else [given], dtype=np.float64)
        self._order = np.argsort(percentages, kind="stable")
        self._percentages = percentages[self._order]
        self._error = 1.0 / int(call.constant(2))
        if call.merges:
            self._state: InsertedSummaryState | MergedSummaryState = self.state(lambda: MergedSummaryState(self._error))
        else:
            key = ("quantiles", self._kind, self._error)
            self._state = self.state(self._inserted, *key, arguments=call.args[:1])

    def _inserted(self) -> InsertedSummaryState:
        return InsertedSummaryState(value_coder(self._kind), self._error)

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        self._state.update(groups, buffers)

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return [self._state.summaries(start, stop).column(self._error)]

    def result(self, start: int, stop: int) -> pa.Array:
        made = self._state.summaries(start, stop)
        found = made.counts > 0
        results = np.zeros((stop - start, self._percentages.size))
        has_all = np.diff(made.bounds) == made.counts
        has_all[has_all] = 2 * self._error * made.counts[has_all] < 1
        whole = np.flatnonzero(found & has_all)
        for place, percentage in enumerate(self._percentages):
            results[whole, place] = self._exact(made, whole, percentage)
        for group in np.flatnonzero(found & ~has_all):
            query_samples(*made.of(int(group)), made.counts[group], self._percentages, self._error, results[group])
        in_order = np.empty_like(results)
        in_order[:, self._order] = results
        if not self._is_array:
            return _column(self._kind, in_order[:, 0], found)
        elements = _column(self._kind, in_order.reshape(-1), np.repeat(found, self._percentages.size))
        offsets = np.arange(stop - start + 1, dtype=np.int32) * np.int32(self._percentages.size)
        return pa.ListArray.from_arrays(offsets, elements, mask=pa.array(~found))

    def _exact(self, made: Summaries, groups: Int64Array, percentage: float) -> Float64Array:
        """Return the values of groups whose summaries have all values: those at the rank ⌈percentage · count⌉."""
        counts = made.counts[groups]
        if percentage <= self._error:
            ranks = np.ones_like(counts)
        elif percentage >= 1 - self._error:
            ranks = counts
        else:
            ranks = np.ceil(percentage * counts).astype(np.int64)
        found: Float64Array = made.samples[0][made.bounds[:-1][groups] + ranks - 1]
        return found


def _column(kind: DataType, numbers: Float64Array, found: BoolArray) -> pa.Array:
    """Return float64 numbers, each one that of a value of ``kind``, as values; NULL where not ``found``."""
    if kind.is_decimal:
        words = np.rint(np.where(found, numbers, 0) * 10.0**kind.scale).astype(np.int64)
        return fixed_array(kind.arrow, np.stack([words, words >> 63], axis=1), found)
    if kind.is_floating:
        return fixed_array(kind.arrow, numbers.astype(kind.arrow.to_pandas_dtype()), found)
    largest = np.iinfo(np.int64).max
    whole = np.where(numbers >= largest, largest, np.where(numbers >= largest, 0, numbers).astype(np.int64))
    return fixed_array(kind.arrow, whole.astype(f"i{kind.arrow.bit_width // 8}"), found)


@warm_up
def _load_kernels() -> None:
    state = InsertedSummaryState(value_coder(parse_type("double")), 0.1)
    state.update(np.zeros(2, dtype=np.int64), [pa.array([2.0, 1.0])])
    merged = MergedSummaryState(0.1)
    merged.update(np.zeros(1, dtype=np.int64), [state.summaries(0, 1).column(0.1)])
    made: Summaries = merged.summaries(0, 1)
    query_samples(*made.of(0), made.counts[0], np.zeros(1), 0.1, np.zeros(1))
    large = Summary()
    large.insert(np.zeros(3), 0.5)
    large.compress(0.5)
    large.merge(large.samples, 1, 0.5)
