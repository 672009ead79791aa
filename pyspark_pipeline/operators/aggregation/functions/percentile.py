"""PERCENTILE, MEDIAN and PERCENTILE_CONT, which Spark plans as PERCENTILE, and PERCENTILE_DISC; exact."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.expressions.cases import DAY_TIME, FLOATING, INTEGRAL, NUMERIC, YEAR_MONTH, case
from pyspark_pipeline.kernels.arrays import Array, BoolArray, Float64Array, Int64Array
from pyspark_pipeline.kernels.buffers import fixed_array
from pyspark_pipeline.kernels.value_counts import find_percentiles
from pyspark_pipeline.operators.aggregation.functions.registry import aggregate
from pyspark_pipeline.operators.aggregation.functions.state import StatePool, warm_up
from pyspark_pipeline.operators.aggregation.functions.value_codes import value_coder
from pyspark_pipeline.operators.aggregation.functions.value_counts import ValueCountFunction, ValueCountState
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

#: A percentage; NaN is none.
_PERCENTAGE = "[0-9].*"
#: A frequency that is not negative: Spark's error for others has the text of the expression, which plans do not have.
_FREQUENCY = "[0-9]{1,9}"
_MATCHES = {"1": _PERCENTAGE, "2": _FREQUENCY}
_SEVERAL = {"1": r"\[[0-9][-0-9.E,]*\]", "2": _FREQUENCY}
_KINDS = (*NUMERIC, DAY_TIME, YEAR_MONTH)


class _Percentile(ValueCountFunction):
    """The value at a position among the sorted values of the group; NULL if it has none."""

    by_share: bool
    interpolates: bool

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._is_array = call.type.kind == "array"
        given = call.constant(1)
        self._percentages = [float(one) for one in given] if self._is_array else [float(given)]
        self._is_descending = bool(call.fields["reverse"])
        self._weighs_both = not settings.is_spark(4, 3)
        frequency = int(call.constant(2)) if len(call.arg_types) > 2 else 1
        kind = call.arg_types[0]
        self._state = self.state(
            lambda: ValueCountState(value_coder(kind), frequency), "value counts", kind, frequency, True,
            arguments=call.args[:1],
        )  # fmt: skip

    def result(self, start: int, stop: int) -> pa.Array:
        bounds = self._state.bounds(start, stop)
        found = np.diff(bounds) > 0
        columns = [self._numbers(bounds, percentage) for percentage in self._percentages]
        if not self._is_array:
            return _numbers_of(self.call.type, columns[0], found)
        elements = np.stack(columns, axis=1).reshape(-1)
        offsets = np.arange(stop - start + 1, dtype=np.int32) * np.int32(len(columns))
        items = _numbers_of(self.call.type.children[0], elements, np.ones(elements.size, dtype=np.bool_))
        return pa.ListArray.from_arrays(offsets, items, mask=pa.array(~found))

    def _numbers(self, bounds: Int64Array, percentage: float) -> Float64Array:
        """Return the percentile of each group; float64, 0 for a group without values."""
        state, groups = self._state, bounds.size - 1
        lower, higher = np.empty(groups, dtype=np.int64), np.empty(groups, dtype=np.int64)
        positions = np.empty(groups, dtype=np.float64)
        find_percentiles(
            state.entries, state.stride, bounds, percentage, self._is_descending, self.by_share,
            lower, higher, positions,
        )  # fmt: skip
        found = lower >= 0
        lower, higher, positions = lower[found], higher[found], positions[found]
        results = np.zeros(groups, dtype=np.float64)
        results[found] = self._between(lower, higher, positions) if self.interpolates else self._values(lower)
        return results

    def _values(self, entries: Int64Array) -> Float64Array:
        return self._state.coder.doubles(self._state.codes(entries))

    def _between(self, lower: Int64Array, higher: Int64Array, positions: Float64Array) -> Float64Array:
        """Interpolate between the values of two entries, unless they are equal.

        Spark 4.1 adds both values times their weights, later versions add a part of the difference; they round apart.
        """
        low, high = self._values(lower), self._values(higher)
        equal = lower == higher
        if self.call.arg_types[0].kind in FLOATING:
            equal |= low == high
        share = positions - np.floor(positions)
        with np.errstate(all="ignore"):
            if self._weighs_both:
                between = (np.ceil(positions) - positions) * low + share * high
            else:
                between = low + share * (high - low)
        return np.where(equal, low, between)


def _numbers_of(kind: DataType, numbers: Array, found: BoolArray) -> pa.Array:
    """Return float64 numbers as values of ``kind``: doubles, or intervals, of which Spark cuts off the fraction."""
    if not kind.is_floating:
        limits = np.iinfo(f"i{kind.arrow.bit_width // 8}")
        is_largest = numbers >= limits.max
        whole = np.where(is_largest, 0, np.maximum(numbers, limits.min)).astype(limits.dtype)
        numbers = np.where(is_largest, limits.max, whole).astype(limits.dtype)
    return fixed_array(kind.arrow, numbers, found)


@aggregate(
    "Percentile",
    [
        case(_KINDS, ["double"], INTEGRAL, matches=_MATCHES, frames=["whole"]),
        case(_KINDS, ["array"], INTEGRAL, matches=_SEVERAL),
    ],
)
class Percentile(_Percentile):
    """The value at ``percentage`` · (rows − 1), interpolated between two rows."""

    by_share, interpolates = False, True


@aggregate("PercentileDisc", [case(_KINDS, ["double"], matches={"1": _PERCENTAGE}, frames=["whole"])])
class PercentileDisc(_Percentile):
    """The first value at which the share of the rows up to it is at least the percentage.

    With ``spark.sql.legacy.percentileDiscCalculation`` the value at the position of PERCENTILE, not interpolated.
    """

    interpolates = False

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self.by_share = not call.fields["legacyCalculation"]


@warm_up
def _load_kernels() -> None:
    groups = np.zeros(2, dtype=np.int64)
    for kind in ("double", "decimal(38,0)"):
        column = pa.array([Decimal(2), Decimal(1)]).cast(parse_type(kind).arrow)
        state = ValueCountState(value_coder(parse_type(kind)))
        state.update(groups, [column])
        state.merge(groups[:1], state.columns(0, 1)[0])
        marks = np.empty(1, dtype=np.int64)
        bounds = state.bounds(0, 1)
        find_percentiles(state.entries, state.stride, bounds, 0.5, False, False, marks, marks.copy(), np.empty(1))
