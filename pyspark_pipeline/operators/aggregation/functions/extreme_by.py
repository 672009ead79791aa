"""MAX_BY and MIN_BY: the value of the row with the largest or smallest ordering; of equal orderings the last row's.

Rows whose ordering is NULL do not count; a value may be NULL.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.expressions.cases import ALL_KINDS, ORDERED, case
from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array
from pyspark_pipeline.kernels.extreme_rows import take_marked
from pyspark_pipeline.kernels.normalized_key import normalized_keys
from pyspark_pipeline.operators.aggregation.functions.extremes import ExtremeState, StringExtreme, extreme_state
from pyspark_pipeline.operators.aggregation.functions.registry import FRAMES, AggregateFunction, aggregate
from pyspark_pipeline.operators.aggregation.functions.row_values import RowValueState
from pyspark_pipeline.operators.aggregation.functions.state import StatePool, updated, warm_up
from pyspark_pipeline.operators.aggregation.functions.value_lists import plain_column
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

_CASES = [case(ALL_KINDS, kinds, frames=FRAMES) for kinds in (ORDERED, ["array"], ["struct"])]
_KEY = parse_type("binary")


class ExtremeByState(RowValueState):
    """The values of the rows with the smallest or largest ordering, which is the value of ``best``, of that row.

    ``is_last``: of rows with equal orderings the last one counts, else the first one.
    """

    reads_some_rows = True

    def __init__(self, kind: DataType, best: ExtremeState, *, is_last: bool = True) -> None:
        self._best = best
        self._is_last = is_last
        super().__init__(kind, best.seen)
        self.arrays = (self._place,)

    @property
    def nbytes(self) -> int:
        return super().nbytes + self._best.nbytes

    def reserve(self, groups: int) -> None:
        self._best.reserve(groups)
        super().reserve(groups)

    def clear(self) -> None:
        self._best.clear()
        super().clear()

    def take(self, groups: Int64Array) -> None:
        self._best.take(groups)
        super().take(groups)

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        value, ordering = columns
        if pa.types.is_dictionary(ordering.type):
            ordering = ordering.dictionary_decode()
        self._best.mark(groups, ordering, self._place.array)
        rows = np.empty(groups.size, dtype=np.int64)
        count = take_marked(groups, self._place.array, self._rows, rows)
        self._hold(value, rows[:count])

    def rows_read(self, groups: Int64Array, columns: Sequence[pa.Array]) -> BoolArray:
        """Return the rows whose ordering is the extreme of its group so far."""
        return self._best.running_extremes(groups, columns[0])

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        value, ordering = columns
        self._hold_scanned(value)
        places = self._best.run(starts, ordering, is_last=self._is_last)
        self._place.array[: places.size] = places

    def orderings(self, start: int, stop: int) -> pa.Array:
        """Return the orderings; NULL if the group has no row."""
        return self._best.column(start, stop)


class NestedExtremeByState(ExtremeByState):
    """The values of the rows with the smallest or largest array or struct, which are compared by normalized keys."""

    def __init__(self, kind: DataType, ordering: DataType, sign: int) -> None:
        pair = DataType("struct", children=(kind, ordering), names=("value", "ordering"))
        super().__init__(pair, StringExtreme(_KEY, sign))
        self._fields = list(pair.arrow)

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        super().update(groups, self._keyed(columns))

    def rows_read(self, groups: Int64Array, columns: Sequence[pa.Array]) -> BoolArray:
        return super().rows_read(groups, [normalized_keys(plain_column(columns[0], self._fields[1].type))])

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        super().scan(starts, self._keyed(columns))

    def _keyed(self, columns: Sequence[pa.Array]) -> list[pa.Array]:
        parts = [plain_column(column, field.type) for column, field in zip(columns, self._fields, strict=True)]
        return [pa.StructArray.from_arrays(parts, fields=self._fields), normalized_keys(parts[1])]

    def column(self, start: int, stop: int) -> pa.Array:
        return pc.struct_field(super().column(start, stop), 0)

    def orderings(self, start: int, stop: int) -> pa.Array:
        return pc.struct_field(super().column(start, stop), 1)


def _new_state(kind: DataType, ordering: DataType, sign: int) -> ExtremeByState:
    if ordering.is_nested:
        return NestedExtremeByState(kind, ordering, sign)
    return ExtremeByState(kind, extreme_state(ordering, sign))


class _ExtremeBy(AggregateFunction):
    """The buffer is (value, ordering); the ordering is NULL before the first row."""

    sign: int

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        ordering = call.arg_types[1]
        self._state: ExtremeByState = self.state(
            lambda: _new_state(call.type, ordering, self.sign), "extreme by", call.type, ordering, self.sign
        )

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        self._state.update(groups, buffers)

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return [self._state.column(start, stop), self._state.orderings(start, stop)]

    def result(self, start: int, stop: int) -> pa.Array:
        return self._state.column(start, stop)


@aggregate("MaxBy", _CASES)
class MaxBy(_ExtremeBy):
    """The value of the last row with the largest ordering."""

    sign = -1


@aggregate("MinBy", _CASES)
class MinBy(_ExtremeBy):
    """The value of the last row with the smallest ordering."""

    sign = 1


@warm_up
def _load_kernels() -> None:
    column = pa.array([1, None])
    for kind in ("bigint", "double", "decimal(20,0)", "string"):
        ordering = parse_type(kind)
        state = updated(_new_state(parse_type("bigint"), ordering, 1), column, column.cast(ordering.arrow))
        state.rows_read(np.zeros(2, dtype=np.int64), [column.cast(ordering.arrow)])
