"""LISTAGG and STRING_AGG: the strings of a group one after the other, in the order of the rows or of sort keys.

DISTINCT without sort keys stays in Spark, whose result has the order of a hash map.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.expressions.cases import ORDERED, case
from pyspark_pipeline.kernels.element_places import element_rows
from pyspark_pipeline.kernels.sort_fields import SortColumn
from pyspark_pipeline.kernels.sort_order import order_rows
from pyspark_pipeline.operators.aggregation.functions.registry import aggregate
from pyspark_pipeline.operators.aggregation.functions.state import StatePool, warm_up
from pyspark_pipeline.operators.aggregation.functions.value_lists import ListFunction, ListState, check_size
from pyspark_pipeline.plan.expr import Call, Expr
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

_KEYS = tuple(kind for kind in ORDERED if kind != "decimal")
_TEXTS = (["string"], ["string", "void"]), (["binary"], ["binary", "void"])


@aggregate(
    "ListAgg",
    [case(*texts, literal=[1], distinct=False) for texts in _TEXTS]
    + [case(*texts, _KEYS, variadic=True, literal=[1]) for texts in _TEXTS],
)
class ListAgg(ListFunction):
    """The values that are not NULL, separated by a constant; NULL if there is none."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        kinds = [call.arg_types[0]] if call.is_sorted_by_first else [call.arg_types[0], *call.arg_types[2:]]
        columns = _columns(call.args)[: len(kinds)]
        self._state: ListState = self.state(lambda: ListState(kinds), "list", *kinds, arguments=columns)
        self._delimiter = pa.scalar(call.constant(1) or b"", call.type.arrow)

    def result(self, start: int, stop: int) -> pa.Array:
        bounds, columns = self._state.rows(start, stop)
        texts = columns[0]
        if self.call.orders:
            owners = element_rows(np.diff(bounds))
            read = columns[-len(self.call.orders) :]
            keys = [SortColumn(pa.array(owners), False, True)]
            keys += [SortColumn(column, *order) for column, order in zip(read, self.call.orders, strict=True)]
            texts = texts.take(pa.array(order_rows(keys, len(texts))))
        check_size(texts.nbytes + len(texts) * len(self._delimiter.as_buffer()))
        lists = pa.ListArray.from_arrays(bounds.astype(np.int32), texts, mask=pa.array(np.diff(bounds) == 0))
        return pc.binary_join(lists, self._delimiter)


def _columns(args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Return the value and the sort keys, which are arguments of sort orders."""
    return (*args[:1], *(order.args[0] for order in args[2:] if isinstance(order, Call)))


@warm_up
def _load_kernels() -> None:
    for kinds in (["string"], ["string", "string", "bigint"]):
        state = ListState([parse_type(kind) for kind in kinds])
        columns = [pa.array(["a", "b"]), pa.array(["a", None]), pa.array([1, 2])][: len(kinds)]
        state.update(np.zeros(2, dtype=np.int64), columns)
        state.merge(np.zeros(1, dtype=np.int64), state.buffers(0, 1))
