"""MODE: the most frequent value of a group; of equally frequent ones the smallest or the largest.

Without an order Spark returns the first of its hash map, which depends on the order of the rows: such calls stay there.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.expressions.cases import ORDERED, case
from pyspark_pipeline.kernels.value_counts import find_modes
from pyspark_pipeline.operators.aggregation.functions.registry import aggregate
from pyspark_pipeline.operators.aggregation.functions.state import StatePool, warm_up
from pyspark_pipeline.operators.aggregation.functions.value_codes import value_coder
from pyspark_pipeline.operators.aggregation.functions.value_counts import ValueCountFunction, ValueCountState
from pyspark_pipeline.plan.nodes import AggregateCall, Settings


@aggregate("Mode", [case(ORDERED, fields={"reverseOpt": ["true", "false"]}, frames=["whole"])])
class Mode(ValueCountFunction):
    """The most frequent value that is not NULL.

    Spark 4.1 counts −0.0 and 0.0 apart; if both are the most frequent value, it returns either of them.
    """

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        kind = call.arg_types[0]
        has_negative_zero = not settings.is_spark(4, 3)
        self._is_largest = not call.fields["reverseOpt"]
        self._state = self.state(
            lambda: ValueCountState(value_coder(kind, has_negative_zero=has_negative_zero)),
            "value counts", kind, 1, has_negative_zero,
        )  # fmt: skip

    def result(self, start: int, stop: int) -> pa.Array:
        state = self._state
        bounds = state.bounds(start, stop)
        chosen = np.empty(stop - start, dtype=np.int64)
        find_modes(state.entries, state.stride, bounds, state.coder.ranks(), self._is_largest, chosen)
        found = chosen >= 0
        modes = state.coder.decode(state.codes(chosen[found]))
        return modes.take(pa.array(np.cumsum(found) - 1, mask=~found))


@warm_up
def _load_kernels() -> None:
    state = ValueCountState(value_coder(parse_type("string")))
    state.update(np.zeros(2, dtype=np.int64), [pa.array(["b", "a"])])
    state.merge(np.zeros(1, dtype=np.int64), state.columns(0, 1)[0])
    bounds = state.bounds(0, 1)
    find_modes(state.entries, state.stride, bounds, state.coder.ranks(), False, np.empty(1, dtype=np.int64))
