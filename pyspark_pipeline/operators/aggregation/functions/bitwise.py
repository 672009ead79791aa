"""BIT_AND, BIT_OR and BIT_XOR of integers, after Spark's ``BitAggregate``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.expressions.cases import INTEGRAL, case
from pyspark_pipeline.kernels.accumulate import combine_bits
from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array
from pyspark_pipeline.kernels.buffers import fixed_array, validity, values
from pyspark_pipeline.kernels.running import run_bits
from pyspark_pipeline.operators.aggregation.functions.registry import FRAMES, ValueFunction, aggregate
from pyspark_pipeline.operators.aggregation.functions.state import PerGroup, StatePool, ValueState, updated, warm_up
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

_CASES = [case(INTEGRAL, frames=FRAMES)]


class BitState(ValueState):
    """The values of each group combined by ``operator``: ``&``, ``|`` or ``^``, as a character code."""

    def __init__(self, kind: DataType, operator: str) -> None:
        self._kind = kind
        self._operator = ord(operator)
        self._bits = PerGroup(np.int64)
        self._seen = PerGroup(np.uint8)
        self.arrays = (self._bits, self._seen)

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        data = values(columns[0]).astype(np.int64, copy=False)
        combine_bits(groups, data, *validity(columns[0]), self._operator, self._bits.array, self._seen.array)

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        data = values(columns[0]).astype(np.int64, copy=False)
        run_bits(starts, data, *validity(columns[0]), self._operator, self._bits.array, self._seen.array)

    def column(self, start: int, stop: int) -> pa.Array:
        width = self._kind.arrow.bit_width // 8
        combined = self._bits.part(start, stop).astype(f"<i{width}")
        return fixed_array(self._kind.arrow, combined, self._seen.part(start, stop) != 0)


class _Bits(ValueFunction):
    operator: str

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._state = self.state(lambda: BitState(call.type, self.operator), "bits", call.type, self.operator)


@aggregate("BitAndAgg", _CASES)
class BitAnd(_Bits):
    """The bits that are set in all values."""

    ignores_order = True

    operator = "&"


@aggregate("BitOrAgg", _CASES)
class BitOr(_Bits):
    """The bits that are set in a value."""

    operator = "|"


@aggregate("BitXorAgg", _CASES)
class BitXor(_Bits):
    """The bits that are set in an odd number of values."""

    operator = "^"


@warm_up
def _load_kernels() -> None:
    updated(BitState(parse_type("bigint"), "&"), pa.array([1, None]))
