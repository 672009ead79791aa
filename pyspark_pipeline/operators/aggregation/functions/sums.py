"""SUM, after Spark's ``Sum``: integers to bigint, floating to double, decimal(p,s) to decimal(p+10,s), intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions.cases import DAY_TIME, FLOATING, INTEGRAL, YEAR_MONTH, case
from pyspark_pipeline.kernels.arrays import Int64Array
from pyspark_pipeline.kernels.buffers import bool_array
from pyspark_pipeline.operators.aggregation.functions.interval_sums import MonthSumState
from pyspark_pipeline.operators.aggregation.functions.registry import (
    FRAMES,
    MODES,
    SESSION_MODES,
    TRY_MODE,
    SumFunction,
    ValueFunction,
    aggregate,
)
from pyspark_pipeline.operators.aggregation.functions.state import StatePool
from pyspark_pipeline.operators.aggregation.functions.sum_states import (
    LongSumState,
    TryLongSumState,
    decimal_sum,
    double_sum,
    interval_overflow,
    long_overflow,
    long_sum,
    out_of_range,
    overflow,
)
from pyspark_pipeline.plan.nodes import AggregateCall, Settings


@aggregate("Sum", [case(INTEGRAL, fields=SESSION_MODES, frames=FRAMES)])
class LongSum(SumFunction, ValueFunction):
    """Sum of integers; the buffer is NULL before the first value."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._state = self.state(
            lambda: long_sum(long_overflow if self.ansi else None, pool.groups), "long sum", self.ansi
        )

    @property
    def is_exact_in_parts(self) -> bool:
        return not self.ansi or super().is_exact_in_parts  # else it wraps


@aggregate("Sum", [case([DAY_TIME, YEAR_MONTH], fields=SESSION_MODES, frames=FRAMES)])
class IntervalSum(SumFunction, ValueFunction):
    """Sum of intervals; the buffer is NULL before the first value."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        make = MonthSumState if call.type.kind == YEAR_MONTH else LongSumState
        self._state = self.state(lambda: make(interval_overflow), "interval sum")


@aggregate("Sum", [case(INTEGRAL, fields=TRY_MODE, frames=FRAMES)])
class TryLongSum(SumFunction):
    """``try_sum`` of integers; the buffer is (sum, isEmpty); a NULL sum that is not empty has overflowed."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._state = self.state(TryLongSumState, "try long sum")

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        self._state.merge(groups, *buffers)

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return [self._state.column(start, stop, empty_is_null=False), self._state.is_empty(start, stop)]

    def result(self, start: int, stop: int) -> pa.Array:
        return self._state.column(start, stop, empty_is_null=True)


@aggregate("Sum", [case(FLOATING, fields=MODES, frames=FRAMES)])
class DoubleSum(ValueFunction):
    """Sum of floating numbers; the buffer is NULL before the first value."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._state = self.state(lambda: double_sum(pool.groups), "double sum")


@aggregate("Sum", [case(["decimal"], fields=MODES, frames=FRAMES)])
class DecimalSum(SumFunction):
    """Sum of decimals; the buffer is (sum, isEmpty); a NULL sum that is not empty has overflowed."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._state = self.state(lambda: decimal_sum(call.type, pool.groups), "decimal sum", call.type)

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        self._state.merge(groups, buffers[0], buffers[1])

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        sums = self._state.column(start, stop, empty_is_null=False)
        return [sums, bool_array(self._state.is_empty(start, stop))]

    def result(self, start: int, stop: int) -> pa.Array:
        if self.ansi and self._state.has_overflowed(start, stop).any():
            raise overflow("Overflow in sum of decimals", "try_sum", self.call.context)
        made = self._state.column(start, stop, empty_is_null=True)
        if self.ansi and made.null_count and not self._state.is_empty(start, stop).all():
            self._refuse_wide(made, start)
        return made

    def _refuse_wide(self, made: pa.Array, start: int) -> None:
        """Raise for a sum that has a value but too many digits for its type."""
        for row in np.flatnonzero(~np.asarray(made.is_valid()) & ~self._state.is_empty(start, start + len(made))):
            total = self._state.total(start + int(row))
            raise out_of_range(total, self.call.type.scale, self.call.type, self.call.context)
