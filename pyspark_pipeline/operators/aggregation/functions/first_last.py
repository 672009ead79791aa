"""FIRST and LAST (and ANY_VALUE, which is FIRST), with and without IGNORE NULLS, of any type, in row order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.expressions.cases import KINDS, case
from pyspark_pipeline.kernels.buffers import NO_BITS, Array, bits, bool_array, validity
from pyspark_pipeline.kernels.first_last import first_rows, last_rows
from pyspark_pipeline.kernels.running import run_edges
from pyspark_pipeline.operators.aggregation.functions.registry import FRAMES, AggregateFunction, aggregate
from pyspark_pipeline.operators.aggregation.functions.state import PerGroup, State, StatePool, updated, warm_up
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

_CASES = [case(KINDS, fields={"ignoreNulls": ["true", "false"]}, frames=FRAMES)]
#: Replaced values are dropped once they outnumber the groups by this many rows.
_MIN_GARBAGE = 4096


class EdgeState(State):
    """The value of the first or of the last row of every group.

    ``select`` is the kernel that selects the rows of a chunk. Their values are appended to Arrow arrays.
    """

    def __init__(self, kind: DataType, select: Callable[..., int], *, ignore_nulls: bool) -> None:
        self._kind = kind
        self._select = select
        self._ignore_nulls = ignore_nulls
        self._place = PerGroup(np.int64)
        self._seen = PerGroup(np.uint8)
        self.arrays = (self._place, self._seen)
        self._held: list[pa.Array] = []
        self._rows = 0

    @property
    def nbytes(self) -> int:
        return super().nbytes + sum(int(array.nbytes) for array in self._held)

    def clear(self) -> None:
        super().clear()
        self._held, self._rows = [], 0

    def update(self, groups: Array, columns: Sequence[pa.Array]) -> None:
        column = columns[0]
        if not self._ignore_nulls:
            self._append(groups, column, NO_BITS, 0)
        elif column.null_count < len(column):
            self._append(groups, column, *validity(column))

    def scan(self, starts: Array, columns: Sequence[pa.Array]) -> None:
        column = columns[0]
        wanted = np.array(column.is_valid()) if self._ignore_nulls else np.ones(len(column), dtype=np.bool_)
        self._held = [pa.concat_arrays([self.column(0, 1), column])]
        self._rows = len(column) + 1
        self._place.array[0] = 0
        run_edges(starts, wanted, self._select is last_rows, self._seen.array, self._place.array)

    def take(self, groups: Array) -> None:
        super().take(groups)
        self._compact()

    def merge(self, groups: Array, column: pa.Array, is_set: pa.Array) -> None:
        """Merge partial values; only those that are set count."""
        self._append(groups, column, *bits(is_set))

    def _append(self, groups: Array, column: pa.Array, bitmap: Array, skip: int) -> None:
        rows = np.empty(groups.size, dtype=np.int64)
        count = self._select(groups, bitmap, skip, self._seen.array, self._place.array, self._rows, rows)
        if not count:
            return
        taken = column.take(pa.array(rows[:count]))
        self._held.append(taken.dictionary_decode() if pa.types.is_dictionary(taken.type) else taken)
        self._rows += count
        if self._rows > 2 * self._seen.array.size + _MIN_GARBAGE:
            self._compact()

    def _compact(self) -> None:
        """Drop the values that later ones replaced."""
        live = np.flatnonzero(self._seen.array)
        kept = self._values().take(pa.array(self._place.array[live]))
        self._place.array[live] = np.arange(live.size)
        self._held, self._rows = [kept], live.size

    def _values(self) -> pa.Array:
        if len(self._held) != 1:
            self._held = [pa.concat_arrays(self._held)] if self._held else [pa.nulls(0, self._kind.arrow)]
        return self._held[0]

    def column(self, start: int, stop: int) -> pa.Array:
        """Return the values; NULL if the group has no row."""
        places = pa.array(self._place.part(start, stop), mask=self._seen.part(start, stop) == 0)
        return self._values().take(places)

    def is_set(self, start: int, stop: int) -> pa.Array:
        """Return which groups have a row; boolean."""
        return bool_array(self._seen.part(start, stop) != 0)


class _Edge(AggregateFunction):
    """The buffer is (value, whether it is set)."""

    select: Callable[..., int]

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        ignore_nulls = bool(call.fields["ignoreNulls"])
        select = type(self).select
        self.is_known_at_first_row = select is first_rows and not ignore_nulls
        self._state = self.state(
            lambda: EdgeState(call.type, select, ignore_nulls=ignore_nulls), type(self), call.type, ignore_nulls
        )

    def merge(self, groups: Array, buffers: Sequence[pa.Array]) -> None:
        self._state.merge(groups, *buffers)

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return [self._state.column(start, stop), self._state.is_set(start, stop)]

    def result(self, start: int, stop: int) -> pa.Array:
        return self._state.column(start, stop)


@aggregate("First", _CASES)
class First(_Edge):
    """The value of the first row, or of the first row that is not NULL."""

    select = first_rows


@aggregate("Last", _CASES)
class Last(_Edge):
    """The value of the last row, or of the last row that is not NULL."""

    select = last_rows


@warm_up
def _load_kernels() -> None:
    for select in (first_rows, last_rows):
        updated(EdgeState(parse_type("bigint"), select, ignore_nulls=True), pa.array([1, None]))
