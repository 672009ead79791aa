"""SUM, after Spark's ``Sum``: integers to bigint, floating to double, decimal(p,s) to decimal(p+10,s)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.expressions.cases import FLOATING, INTEGRAL, case
from pyspark_pipeline.kernels.buffers import Array, bool_array
from pyspark_pipeline.operators.aggregation.functions.registry import FRAMES, MODES, AggregateFunction, aggregate
from pyspark_pipeline.operators.aggregation.functions.state import StatePool
from pyspark_pipeline.operators.aggregation.functions.sum_states import (
    DoubleSumState,
    LongSumState,
    decimal_sum,
    out_of_range,
    overflow,
)
from pyspark_pipeline.plan.nodes import AggregateCall, Settings


class _PlainSum(AggregateFunction):
    """A sum whose buffer is the sum itself."""

    _state: LongSumState | DoubleSumState

    def merge(self, groups: Array, buffers: Sequence[pa.Array]) -> None:
        self._state.update(groups, buffers)

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return [self._state.column(start, stop)]

    def result(self, start: int, stop: int) -> pa.Array:
        return self._state.column(start, stop)


@aggregate("Sum", [case(INTEGRAL, fields=MODES, frames=FRAMES)])
class LongSum(_PlainSum):
    """Sum of integers; the buffer is NULL before the first value."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._state = self.state(lambda: LongSumState(self.ansi), "long sum", self.ansi)


@aggregate("Sum", [case(FLOATING, fields=MODES, frames=FRAMES)])
class DoubleSum(_PlainSum):
    """Sum of floating numbers; the buffer is NULL before the first value."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._state = self.state(DoubleSumState, "double sum")


@aggregate("Sum", [case(["decimal"], fields=MODES, frames=FRAMES)])
class DecimalSum(AggregateFunction):
    """Sum of decimals; the buffer is (sum, isEmpty); a NULL sum that is not empty has overflowed."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._state = self.state(lambda: decimal_sum(call.type, pool.groups), "decimal sum", call.type)

    def merge(self, groups: Array, buffers: Sequence[pa.Array]) -> None:
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
