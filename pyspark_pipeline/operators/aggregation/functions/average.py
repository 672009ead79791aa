"""AVG, after Spark's ``Average``: of decimal(p,s) a decimal(p+4,s+4), of other numbers a double; of intervals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.expressions.cases import DAY_TIME, FLOATING, INTEGRAL, YEAR_MONTH, case
from pyspark_pipeline.kernels.accumulate import divide_sums
from pyspark_pipeline.kernels.arrays import Array, BoolArray, Int64Array
from pyspark_pipeline.kernels.buffers import copied, fixed_array, values
from pyspark_pipeline.operators.aggregation.functions.count import count_state
from pyspark_pipeline.operators.aggregation.functions.interval_sums import MonthSumState, TryMonthSumState
from pyspark_pipeline.operators.aggregation.functions.registry import (
    FRAMES,
    MODES,
    SESSION_MODES,
    TRY_MODE,
    AggregateFunction,
    SumFunction,
    aggregate,
)
from pyspark_pipeline.operators.aggregation.functions.state import StatePool, warm_up
from pyspark_pipeline.operators.aggregation.functions.sum_states import (
    HAS_VALUE,
    LongSumState,
    TryLongSumState,
    decimal_sum,
    double_sum,
    interval_overflow,
    out_of_range,
    overflow,
)
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

_WORD = 2**64 - 1
_DIVISION_SCALE = 39


@aggregate("Average", [case([*INTEGRAL, *FLOATING], fields=MODES, frames=FRAMES)])
class DoubleAverage(AggregateFunction):
    """Average as double; the buffer is (sum, count) and starts at (0.0, 0)."""

    ignores_order = True

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._adds_integers = call.arg_types[0].kind in ("tinyint", "smallint", "int")
        self._sum = self.state(lambda: double_sum(pool.groups), "double sum")
        self._count = self.state(lambda: count_state(pool.groups), "count")

    @property
    def is_exact_in_parts(self) -> bool:
        """Whether the sum is an integer, of at most 2**53, up to which doubles have all: of 4 million rows or more."""
        return self._adds_integers

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        self._sum.update(groups, buffers[:1])
        self._count.merge(groups, buffers[1])

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return [self._sum.zero_column(start, stop), self._count.column(start, stop)]

    def result(self, start: int, stop: int) -> pa.Array:
        counts = self._count.counts.part(start, stop)
        with np.errstate(invalid="ignore", divide="ignore"):
            quotients = self._sum.sums(start, stop) / counts
        return fixed_array(pa.float64(), quotients, counts != 0)


class _IntervalAverage(SumFunction):
    """Average of intervals, rounded half up; the buffer is (sum, count) and starts at (0, 0)."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._count = self.state(lambda: count_state(pool.groups), "count")

    @abstractmethod
    def _sums(self, start: int, stop: int) -> tuple[Array, BoolArray | None]:
        """Return the sums, 0 for no value, and which are valid (None: all)."""

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        sums, valid = self._sums(start, stop)
        return [fixed_array(self.call.type.arrow, copied(sums), valid), self._count.column(start, stop)]

    def result(self, start: int, stop: int) -> pa.Array:
        sums, valid = self._sums(start, stop)
        counts = self._count.counts.part(start, stop)
        sizes, divisors = np.abs(sums.astype(np.int64)).view(np.uint64), np.maximum(counts, 1).view(np.uint64)
        quotients, rest = np.divmod(sizes, divisors)
        rounded = (quotients + (rest >= divisors - rest)).view(np.int64)
        averages = np.where(sums < 0, -rounded, rounded).astype(sums.dtype)
        found = counts != 0
        return fixed_array(self.call.type.arrow, averages, found if valid is None else found & valid)


@aggregate("Average", [case([DAY_TIME, YEAR_MONTH], fields=SESSION_MODES, frames=FRAMES)])
class IntervalAverage(_IntervalAverage):
    """An overflow of the sum raises."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        make = MonthSumState if call.type.kind == YEAR_MONTH else LongSumState
        self._sum = self.state(lambda: make(interval_overflow), "interval sum")

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        self._sum.update(groups, buffers[:1])
        self._count.merge(groups, buffers[1])

    def _sums(self, start: int, stop: int) -> tuple[Array, BoolArray | None]:
        return self._sum.sums(start, stop), None


@aggregate("Average", [case([DAY_TIME, YEAR_MONTH], fields=TRY_MODE, frames=FRAMES)])
class TryIntervalAverage(_IntervalAverage):
    """``try_avg``: NULL after an overflow of the sum, which is a NULL sum in buffers."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        make = TryMonthSumState if call.type.kind == YEAR_MONTH else TryLongSumState
        self._sum = self.state(make, "try interval sum")

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        self._sum.merge(groups, buffers[0], pc.equal(buffers[1], 0))
        self._count.merge(groups, buffers[1])

    def _sums(self, start: int, stop: int) -> tuple[Array, BoolArray | None]:
        column = self._sum.column(start, stop, empty_is_null=False)
        return values(column), np.asarray(column.is_valid())


@aggregate("Average", [case(["decimal"], fields=MODES, frames=FRAMES)])
class DecimalAverage(SumFunction):
    """Average of decimals; the buffer is (sum, count), starts at (0, 0), and a NULL sum has overflowed."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        of = call.arg_types[0]
        self._sum_type = DataType("decimal", min(of.precision + 10, 38), of.scale)
        self._sum = self.state(lambda: decimal_sum(self._sum_type, pool.groups), "decimal sum", self._sum_type)
        self._count = self.state(lambda: count_state(pool.groups), "count")

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        self._sum.merge(groups, buffers[0], None)
        self._count.merge(groups, buffers[1])

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return [self._sum.column(start, stop, empty_is_null=False), self._count.column(start, stop)]

    def result(self, start: int, stop: int) -> pa.Array:
        counts = self._count.counts.part(start, stop)
        words, seen = self._sum.parts(start, stop)
        overflowed = self._sum.has_overflowed(start, stop) & (counts != 0)
        if self.ansi and overflowed.any():
            raise overflow("Overflow in sum of decimals", "try_avg", self.call.context)
        quotients = np.zeros(counts.size, dtype=np.int64)
        valid = np.zeros(counts.size, dtype=np.bool_)
        limit = min(10**self.call.type.precision, 2**63 - 1)  # 64-bit quotients below it have few enough digits
        divide_sums(words, counts, 10 ** (self.call.type.scale - self._sum_type.scale), limit, quotients, valid)
        valid &= seen == HAS_VALUE  # else the sum may have more than 128 bits
        made = np.empty(2 * counts.size, dtype=np.int64)
        made[::2] = quotients
        made[1::2] = quotients >> 63
        for row in np.flatnonzero(~valid & (counts != 0) & ~overflowed):
            total = self._sum.total(start + int(row))
            scale = self._sum_type.scale
            value = _divide_exactly(total, scale, int(counts[row]), self.call.type, self.ansi, self.call.context)
            if value is not None:
                valid[row] = True
                made[2 * row : 2 * row + 2] = np.array(
                    [value & _WORD, (value >> 64) & _WORD], dtype=np.uint64
                ).view(np.int64)
        return fixed_array(self.call.type.arrow, made, valid)


def _divide_exactly(total: int, scale: int, count: int, target: DataType, ansi: bool, context: int) -> int | None:
    """Divide total · 10**−scale as Spark's ``Decimal./`` (truncated to 39 digits of scale), then round half up.

    Return the unscaled value; if it has too many digits, raise in ANSI mode, else return None.
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


@warm_up
def _load_kernels() -> None:
    one = np.zeros(1, dtype=np.int64)
    divide_sums(np.zeros(2, dtype=np.int64), one, 1, 1, one.copy(), np.zeros(1, dtype=np.bool_))
