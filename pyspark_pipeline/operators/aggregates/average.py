"""AVG, after Spark's ``Average``: of decimal(p,s) a decimal(p+4,s+4), of other numbers a double."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.kernels.accumulate import divide_sums
from pyspark_pipeline.kernels.buffers import Array, fixed_array
from pyspark_pipeline.operators.aggregates.count import CountState
from pyspark_pipeline.operators.aggregates.registry import AggregateFunction, aggregate
from pyspark_pipeline.operators.aggregates.state import StatePool
from pyspark_pipeline.operators.aggregates.sum_states import DecimalSumState, DoubleSumState, overflow
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

_MODES = {"evalMode": ["ANSI", "LEGACY"]}
_DIVISION_SCALE = 39
_MOST_EXACT_SCALE = 25


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
        self._sum = self.state(lambda: DecimalSumState(self._sum_type), "decimal sum", self._sum_type)
        self._count = self.state(CountState, "count")

    def merge(self, groups: Array, buffers: Sequence[pa.Array]) -> None:
        self._sum.merge(groups, buffers[0], None)
        self._count.merge(groups, buffers[1])

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return [self._sum.column(start, stop, empty_is_null=False), self._count.column(start, stop)]

    def result(self, start: int, stop: int) -> pa.Array:
        counts = self._count.counts.part(start, stop)
        overflowed = self._sum.has_overflowed(start, stop) & (counts != 0)
        if self.ansi and overflowed.any():
            raise overflow("Overflow in sum of decimals", "", self.call.context)
        words, _ = self._sum.parts(start, stop)
        return self._quotients(words, counts, overflowed)

    def _quotients(self, sums: Array, counts: Array, overflowed: Array) -> pa.Array:
        target = self.call.type
        quotients = np.zeros(counts.size, dtype=np.int64)
        valid = np.zeros(counts.size, dtype=np.bool_)
        if target.scale <= _MOST_EXACT_SCALE and target.precision >= 18:
            factor = 10 ** (target.scale - self._sum_type.scale)
            divide_sums(sums, counts, factor, quotients, valid)
        valid &= ~overflowed
        words = np.empty(2 * counts.size, dtype=np.int64)
        words[::2] = quotients
        words[1::2] = quotients >> 63
        for row in np.flatnonzero(~valid & (counts != 0) & ~overflowed):
            valid[row] = self._divide_exactly(sums, counts, int(row), words, target)
        return fixed_array(target.arrow, words, valid)

    def _divide_exactly(self, sums: Array, counts: Array, row: int, words: Array, target: DataType) -> bool:
        """Divide one sum as Spark's ``Decimal./`` (39 digits of scale, half up), then round to the target's scale."""
        total = (int(sums[2 * row + 1]) << 64) | (int(sums[2 * row]) & (2**64 - 1))
        size = abs(total) * 10 ** (_DIVISION_SCALE - self._sum_type.scale)
        quotient = _half_up(_half_up(size, int(counts[row])), 10 ** (_DIVISION_SCALE - target.scale))
        if quotient >= 10**target.precision:
            if self.ansi:
                raise _out_of_range(quotient if total >= 0 else -quotient, target, self.call.context)
            return False
        signed = quotient if total >= 0 else -quotient
        words[2 * row] = np.uint64(signed & (2**64 - 1)).astype(np.int64)
        words[2 * row + 1] = signed >> 64
        return True


def _half_up(dividend: int, divisor: int) -> int:
    quotient, rest = divmod(dividend, divisor)
    return quotient + (2 * rest >= divisor)


def _out_of_range(value: int, target: DataType, context: int) -> SparkConditionError:
    digits = str(abs(value)).rjust(target.scale + 1, "0")
    whole, fraction = digits[: len(digits) - target.scale], digits[len(digits) - target.scale :]
    parameters = {
        "value": ("-" if value < 0 else "") + whole + ("." + fraction if fraction else ""),
        "precision": str(target.precision),
        "scale": str(target.scale),
        "config": '"spark.sql.ansi.enabled"',
    }
    condition = "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"
    return SparkConditionError("SparkArithmeticException", condition, parameters, context)
