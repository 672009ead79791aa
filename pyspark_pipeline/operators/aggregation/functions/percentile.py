"""PERCENTILE, MEDIAN and PERCENTILE_CONT, which Spark plans as PERCENTILE, and PERCENTILE_DISC; exact."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.expressions.cases import FLOATING, INTEGRAL, NUMERIC, case
from pyspark_pipeline.kernels.buffers import Array, fixed_array
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


class _Percentile(ValueCountFunction):
    """The value at a position among the sorted values of the group; NULL if it has none."""

    by_share: bool
    interpolates: bool

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._percentage = float(call.constant(1))
        self._is_descending = bool(call.fields["reverse"])
        self._weighs_both = not settings.is_spark(4, 3)
        frequency = int(call.constant(2)) if len(call.arg_types) > 2 else 1
        kind = call.arg_types[0]
        self._state = self.state(
            lambda: ValueCountState(value_coder(kind), frequency), "value counts", kind, frequency, True,
            arguments=call.args[:1],
        )  # fmt: skip

    def result(self, start: int, stop: int) -> pa.Array:
        state = self._state
        bounds = state.bounds(start, stop)
        lower, higher = np.empty(stop - start, dtype=np.int64), np.empty(stop - start, dtype=np.int64)
        positions = np.empty(stop - start, dtype=np.float64)
        find_percentiles(
            state.entries, state.stride, bounds, self._percentage, self._is_descending, self.by_share,
            lower, higher, positions,
        )  # fmt: skip
        found = lower >= 0
        lower, higher, positions = lower[found], higher[found], positions[found]
        results = np.zeros(stop - start, dtype=np.float64)
        results[found] = self._between(lower, higher, positions) if self.interpolates else self._values(lower)
        return fixed_array(pa.float64(), results, found)

    def _values(self, entries: Array) -> Array:
        return self._state.coder.doubles(self._state.codes(entries))

    def _between(self, lower: Array, higher: Array, positions: Array) -> Array:
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


@aggregate("Percentile", [case(NUMERIC, ["double"], INTEGRAL, matches=_MATCHES, frames=["whole"])])
class Percentile(_Percentile):
    """The value at ``percentage`` · (rows − 1), interpolated between two rows."""

    by_share, interpolates = False, True


@aggregate("PercentileDisc", [case(NUMERIC, ["double"], matches={"1": _PERCENTAGE}, frames=["whole"])])
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
