"""NTH_VALUE: the value of the n-th row of a frame, or of its n-th row that is not NULL."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.expressions.cases import ALL_KINDS, case
from pyspark_pipeline.kernels.arrays import Int64Array
from pyspark_pipeline.kernels.take import take
from pyspark_pipeline.operators.aggregation.functions.nth_row import NthState, nth_rows_of_frames
from pyspark_pipeline.operators.aggregation.functions.registry import FRAMES, AggregateFunction
from pyspark_pipeline.operators.aggregation.functions.state import StatePool
from pyspark_pipeline.operators.windows.aggregates import aggregate_over_frame
from pyspark_pipeline.operators.windows.registry import WindowFunction, window_function
from pyspark_pipeline.plan.expr import constants
from pyspark_pipeline.plan.nodes import AggregateCall, Settings
from pyspark_pipeline.plan.windows import WindowCall


class NthRow:
    """The value of the n-th row that is not NULL, as a function of frames."""

    def __init__(self, number: int) -> None:
        self._number = number

    def over(self, begin: Int64Array, end: Int64Array, columns: Sequence[pa.Array]) -> pa.Array:
        """Return the values; NULL if a frame has fewer rows that are not NULL."""
        rows = nth_rows_of_frames(begin, end, columns[0], self._number, ignore_nulls=True)
        return take(columns[0], rows, with_missing=True)


class _NthValue(AggregateFunction):
    """The value of the n-th row; only of frames."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        ignore_nulls, number = bool(call.fields["ignoreNulls"]), int(constants(call.args[1:])[0])
        self.is_known_at_first_row = number == 1 and not ignore_nulls
        self._state = self.state(
            lambda: NthState(call.type, number, ignore_nulls=ignore_nulls), "nth", arguments=call.args[:1]
        )

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        raise EngineBugError("nth_value is a function of frames")

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        raise EngineBugError("nth_value is a function of frames")

    def result(self, start: int, stop: int) -> pa.Array:
        return self._state.column(start, stop)


@window_function(
    "NthValue", [case(ALL_KINDS, ["int"], literal=[1], fields={"ignoreNulls": ["true", "false"]}, frames=FRAMES)]
)
def _nth_value(call: WindowCall, settings: Settings) -> WindowFunction:
    return aggregate_over_frame(call, settings, _NthValue)
