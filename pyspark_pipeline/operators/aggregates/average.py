"""AVG, after Spark's ``Average``: of decimal(p,s) a decimal(p+4,s+4), of other numbers a double."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.kernels.accumulate import divide_sums
from pyspark_pipeline.kernels.buffers import Array, fixed_array
from pyspark_pipeline.operators.aggregates.count import CountState
from pyspark_pipeline.operators.aggregates.registry import AggregateFunction, aggregate
from pyspark_pipeline.operators.aggregates.state import StatePool
from pyspark_pipeline.operators.aggregates.sum_states import DoubleSumState, decimal_sum, out_of_range, overflow
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

_MODES = {"evalMode": ["ANSI", "LEGACY"]}
_WORD = 2**64 - 1
_DIVISION_SCALE = 39


@aggregate(
    "Average",
    [{"args": [["tinyint", "smallint", "int", "bigint", "float", "double"]], "fields": _MODES}],
    when=lambda call: call.type.kind == "double",
)
class DoubleAverage(AggregateFunction):
    """Average as double; the buffer is (sum, count) and starts at (0.0, 0)."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._sum = self.state(DoubleSumState, "double sum")
        self._count = self.state(CountState, "count")

    def merge(self, groups: Array, buffers: Sequence[pa.Array]) -> None:
        self._sum.update(groups, buffers[:1])
        self._count.merge(groups, buffers[1])

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return [self._sum.zero_column(start, stop), self._count.column(start, stop)]

    def result(self, start: int, stop: int) -> pa.Array:
        counts = self._count.counts.part(start, stop)
        with np.errstate(invalid="ignore", divide="ignore"):
            quotients = self._sum.sums(start, stop) / counts
        return fixed_array(pa.float64(), quotients, counts != 0)


@aggregate("Average", [{"args": [["decimal"]], "fields": _MODES}], when=lambda call: call.type.is_decimal)
class DecimalAverage(AggregateFunction):
    """Average of decimals; the buffer is (sum, count), starts at (0, 0), and a NULL sum has overflowed."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._sum_type = call.buffer[0]
        self._sum = self.state(lambda: decimal_sum(self._sum_type, pool.has_keys), "decimal sum", self._sum_type)
        self._count = self.state(CountState, "count")

    def merge(self, groups: Array, buffers: Sequence[pa.Array]) -> None:
        self._sum.merge(groups, buffers[0], None)
        self._count.merge(groups, buffers[1])

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return [self._sum.column(start, stop, empty_is_null=False), self._count.column(start, stop)]

    def result(self, start: int, stop: int) -> pa.Array:
        counts = self._count.counts.part(start, stop)
        words, _ = self._sum.parts(start, stop)
        overflowed = self._sum.has_overflowed(start, stop) & (counts != 0)
        if self.ansi and overflowed.any():
            raise overflow("Overflow in sum of decimals", "try_avg", self.call.context)
        quotients = np.zeros(counts.size, dtype=np.int64)
        valid = np.zeros(counts.size, dtype=np.bool_)
        if self._divides_simply():
            divide_sums(words, counts, 10 ** (self.call.type.scale - self._sum_type.scale), quotients, valid)
        valid &= ~overflowed
        made = np.empty(2 * counts.size, dtype=np.int64)
        made[::2] = quotients
        made[1::2] = quotients >> 63
        for row in np.flatnonzero(~valid & (counts != 0) & ~overflowed):
            total = self._sum.total(start + int(row))
            scale = self._sum_type.scale
            value = divide_exactly(total, scale, int(counts[row]), self.call.type, self.ansi, self.call.context)
            if value is not None:
                valid[row] = True
                made[2 * row : 2 * row + 2] = np.array(
                    [value & _WORD, (value >> 64) & _WORD], dtype=np.uint64
                ).view(np.int64)
        return fixed_array(self.call.type.arrow, made, valid)

    def _divides_simply(self) -> bool:
        """Say whether the sums have 128 bits and every 64-bit quotient has few enough digits for the result."""
        return self._pool.has_keys and self.call.type.precision >= 19


def divide_exactly(total: int, scale: int, count: int, target: DataType, ansi: bool, context: int) -> int | None:
    """Divide total · 10**−scale as Spark's ``Decimal./`` (39 digits of scale, the rest cut off), then round half up.

    Gives the unscaled value; None where it has too many digits, which in ANSI mode raises.
    """
    size: int = abs(total) * 10 ** (_DIVISION_SCALE - scale) // count
    unit: int = 10 ** (_DIVISION_SCALE - target.scale)
    quotient, rest = divmod(size, unit)
    quotient += 2 * rest >= unit
    if quotient >= 10**target.precision:
        if ansi:
            signed = size if total >= 0 else -size
            raise out_of_range(signed, _DIVISION_SCALE, target, context)
        return None
    return quotient if total >= 0 else -quotient
