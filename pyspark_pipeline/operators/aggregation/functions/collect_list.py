"""COLLECT_LIST and ARRAY_AGG: the values of a group in the order of the rows, as an array that leaves the engine.

DISTINCT stays in Spark, whose result has the order of a hash map.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.datatypes.types import NESTED_KINDS
from pyspark_pipeline.expressions.cases import ONE_CORE_A_TASK, ORDERED, case
from pyspark_pipeline.operators.aggregation.functions.registry import aggregate
from pyspark_pipeline.operators.aggregation.functions.state import StatePool, warm_up
from pyspark_pipeline.operators.aggregation.functions.value_lists import (
    IGNORES_NULLS,
    MOST_DIGITS,
    ListFunction,
    ListState,
)
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

_COLLECTED: dict[str, Any] = {
    "distinct": False,
    "max_precision": MOST_DIGITS,
    "fields": IGNORES_NULLS,
    "settings": ONE_CORE_A_TASK,
}


@aggregate("CollectList", [case(kinds, **_COLLECTED) for kinds in (ORDERED, NESTED_KINDS)])
class CollectList(ListFunction):
    """The values that are not NULL; an empty array if there is none."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        kind = call.arg_types[0]
        self._struct = kind.arrow if kind.kind == "struct" else None
        fields = [kind] if self._struct is None else kind.children
        self._state: ListState = self.state(
            lambda: ListState(fields, are_structs=self._struct is not None), "list", kind
        )

    def result(self, start: int, stop: int) -> pa.Array:
        bounds, columns = self._state.rows(start, stop)
        if self._struct is None:
            (elements,) = columns
        else:
            elements = pa.StructArray.from_arrays(columns, fields=list(self._struct))
        return pa.ListArray.from_arrays(bounds.astype(np.int32), elements)


@warm_up
def _load_kernels() -> None:
    integers = [(kind, [1, 2]) for kind in ("bigint", "int", "smallint")]
    for kind, items in (*integers, ("boolean", [True, False]), ("decimal(9,2)", [Decimal(1), Decimal(2)])):
        state = ListState([parse_type(kind)])
        state.update(np.zeros(2, dtype=np.int64), [pa.array(items).cast(parse_type(kind).arrow)])
        state.merge(np.zeros(1, dtype=np.int64), state.buffers(0, 1))
