"""MIN and MAX of arrays and structs, which are compared by their normalized keys; of equal ones the first counts."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.expressions.cases import case
from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array
from pyspark_pipeline.kernels.normalized_key import normalized_keys
from pyspark_pipeline.operators.aggregation.functions.extreme_by import ExtremeByState
from pyspark_pipeline.operators.aggregation.functions.extremes import StringExtreme
from pyspark_pipeline.operators.aggregation.functions.registry import FRAMES, ValueFunction, aggregate
from pyspark_pipeline.operators.aggregation.functions.state import StatePool, ValueState
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

_CASES = [case(["array"], frames=FRAMES), case(["struct"], frames=FRAMES)]
_KEY = parse_type("binary")


class NestedExtremeState(ExtremeByState, ValueState):
    """The least (``sign`` 1) or largest (−1) array or struct of every group."""

    def __init__(self, kind: DataType, sign: int) -> None:
        super().__init__(kind, StringExtreme(_KEY, sign, marks_last=False), is_last=False)

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        super().update(groups, [columns[0], normalized_keys(columns[0])])

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        super().scan(starts, [columns[0], normalized_keys(columns[0])])


class _NestedExtreme(ValueFunction):
    """MIN or MAX; the buffer is the value so far."""

    sign = 1

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        self._state = self.state(lambda: NestedExtremeState(call.type, self.sign), "extreme", call.type, self.sign)


@aggregate("Min", _CASES)
class MinOfNested(_NestedExtreme):
    """The least value that is not NULL."""


@aggregate("Max", _CASES)
class MaxOfNested(_NestedExtreme):
    """The largest value that is not NULL."""

    sign = -1
