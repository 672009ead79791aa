"""SUM, after Spark's ``Sum``: integers to bigint, floating to double, decimal(p,s) to decimal(p+10,s)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.buffers import Array, bool_array
from pyspark_pipeline.operators.aggregates.registry import AggregateFunction, aggregate
from pyspark_pipeline.operators.aggregates.state import StatePool
from pyspark_pipeline.operators.aggregates.sum_states import (
    DoubleSumState,
    LongSumState,
    decimal_sum,
    out_of_range,
    overflow,
)
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

_MODES = {"evalMode": ["ANSI", "LEGACY"]}


class _PlainSum(AggregateFunction):
    """A sum whose buffer is the sum itself."""

    _state: LongSumState | DoubleSumState

    def merge(self, groups: Array, buffers: Sequence[pa.Array]) -> None:
        self._state.update(groups, buffers)

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return [self._state.column(start, stop)]

    def result(self, start: int, stop: int) -> pa.Array:
        return self._state.column(start, stop)


@aggregate(
    "Sum",
    [{"args": [["tinyint", "smallint", "int", "bigint"]], "fields": _MODES}],
    when=lambda call: call.type.kind == "bigint",
)
class LongSum(_PlainSum):
    """Sum of integers; the buffer is NULL until a value comes."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._state = self.state(lambda: LongSumState(self.ansi, call.context), "long sum", self.ansi, call.context)


@aggregate("Sum", [{"args": [["float", "double"]], "fields": _MODES}], when=lambda call: call.type.kind == "double")
class DoubleSum(_PlainSum):
    """Sum of floating numbers; the buffer is NULL until a value comes."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._state = self.state(DoubleSumState, "double sum")


@aggregate("Sum", [{"args": [["decimal"]], "fields": _MODES}], when=lambda call: call.type.is_decimal)
class DecimalSum(AggregateFunction):
    """Sum of decimals; the buffer is (sum, isEmpty), a NULL sum that is not empty has overflowed."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._state = self.state(lambda: decimal_sum(call.buffer[0], pool.has_keys), "decimal sum", call.buffer[0])

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
