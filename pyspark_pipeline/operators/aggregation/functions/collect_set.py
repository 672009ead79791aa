"""COLLECT_SET: the distinct values of a group, in the order of a hash set of Scala, as an array that leaves the engine.

The order follows from the values, and from the numbers of values of the partial sets that were merged. A state
therefore remembers the largest of them, and spilled sets have it in place of the row's NULL bits, plus one.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.expressions import ExpressionSettings
from pyspark_pipeline.expressions.cases import FLOATING, ONE_CORE_A_TASK, ORDERED, case
from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array
from pyspark_pipeline.kernels.buffers import values
from pyspark_pipeline.kernels.element_places import element_rows
from pyspark_pipeline.kernels.group_table import GroupTable
from pyspark_pipeline.kernels.partition import grouped_order
from pyspark_pipeline.kernels.scala_sets import count_chains, set_order
from pyspark_pipeline.kernels.unsafe_arrays import read_heads, read_lists
from pyspark_pipeline.operators.aggregation.functions.hashed_rows import (
    HASHED_GROUPS,
    OBJECT_HASH_AGGREGATION,
    HashedRows,
)
from pyspark_pipeline.operators.aggregation.functions.registry import aggregate
from pyspark_pipeline.operators.aggregation.functions.set_elements import Elements, set_elements
from pyspark_pipeline.operators.aggregation.functions.state import PerGroup, StatePool, warm_up
from pyspark_pipeline.operators.aggregation.functions.value_lists import (
    IGNORES_NULLS,
    MOST_DIGITS,
    CollectedState,
    ListFunction,
    list_buffers,
    plain_column,
)
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

_PLANNED = {**ONE_CORE_A_TASK, **OBJECT_HASH_AGGREGATION}
_OTHERS = tuple(kind for kind in ORDERED if kind not in FLOATING)


class SetState(CollectedState):
    """The distinct values of each group that are not NULL, in the order of insertion.

    ``is_last``: the stage has values as output, not sets to merge.
    """

    def __init__(self, elements: Elements, *, is_last: bool) -> None:
        self.elements = elements
        self._is_last = is_last
        self._largest = PerGroup(np.int64)
        self.arrays = (self._largest,)
        self._begin()

    def _begin(self) -> None:
        self._table = self._new_table()
        self._hashed: GroupTable | None = None
        self._rows = HashedRows()
        self._sets: tuple[Int64Array, pa.Array] | None = None

    def _new_table(self) -> GroupTable:
        return GroupTable([pa.int64(), self.elements.key])

    @property
    def nbytes(self) -> int:
        return super().nbytes + self._table.nbytes + (0 if self._hashed is None else self._hashed.nbytes)

    def clear(self) -> None:
        super().clear()
        self._begin()

    def take(self, groups: Int64Array) -> None:
        raise NotImplementedError("sets of values are not a state of frames")

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        raise NotImplementedError("sets of values are not a state of running frames")

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        column = plain_column(columns[0], self.elements.kind.arrow)
        hashed = self._rows.count(groups)
        self._update(groups[:hashed], column[:hashed])
        if self._rows.is_exceeded:
            self._begin_sorting()
            self._update(groups[hashed:], column[hashed:])

    def filter_rows(self, groups: Int64Array, passed: BoolArray) -> None:
        if self._rows.filter(groups, passed) == 0 and self._rows.is_exceeded:
            self._begin_sorting()

    def _update(self, groups: Int64Array, column: pa.Array) -> None:
        if column.null_count:
            rows = np.flatnonzero(np.asarray(column.is_valid()))
            groups, column = groups[rows], column.take(pa.array(rows))
        self._add(groups, self.elements.encode(column))

    def _add(self, groups: Int64Array, column: pa.Array) -> None:
        if groups.size:
            self._table.group_ids([pa.array(groups), self.elements.keys(column)])
            self._sets = None

    def _begin_sorting(self) -> None:
        """Keep the sets so far apart: they are added to those of the other rows."""
        if self._hashed is None:
            self._hashed, self._table, self._sets = self._table, self._new_table(), None

    def merge(self, groups: Int64Array, buffers: pa.Array) -> None:
        """Add sets: of Spark's stages, or spilled."""
        marks, sizes = read_heads(buffers)
        if marks.any():
            self._merge(groups, buffers, marks - 1)
            return
        hashed = self._rows.count(groups)
        self._merge(groups[:hashed], buffers[:hashed], sizes[:hashed])
        if hashed < groups.size:
            if self._hashed is None:
                self._largest.array[:HASHED_GROUPS] = np.diff(self.rows(0, HASHED_GROUPS)[0])
            self._begin_sorting()
            self._merge(groups[hashed:], buffers[hashed:], sizes[hashed:])

    def _merge(self, groups: Int64Array, buffers: pa.Array, sizes: Int64Array) -> None:
        if groups.size:
            np.maximum.at(self._largest.array, groups, sizes)
            owners, columns = read_lists(groups, buffers, [self.elements.stored])
            self._add(owners, columns[0])

    def rows(self, start: int, stop: int) -> tuple[Int64Array, pa.Array]:
        """Return the bounds of groups ``start`` ≤ g < ``stop`` in their elements, which are in the order of insertion.

        They are as Spark stores them.
        """
        owners, column = self._grouped()
        bounds = np.searchsorted(owners, np.arange(start, stop + 1))
        return bounds - bounds[0], column[int(bounds[0]) : int(bounds[-1])]

    def buffers(self, start: int, stop: int) -> pa.Array:
        """Return the sets of groups ``start`` ≤ g < ``stop``; those of the last stage are spilled."""
        bounds, column = self.rows(start, stop)
        return list_buffers([column], bounds, self.largest(start, stop) + 1 if self._is_last else None)

    def _grouped(self) -> tuple[Int64Array, pa.Array]:
        """Return the groups of all elements, ascending, and the elements as Spark stores them."""
        if self._sets is None:
            numbers, keys = self._keys()
            order = grouped_order(values(numbers))
            owners, column = values(numbers)[order], self.elements.of_keys(keys.take(pa.array(order)))
            repeats = self.elements.repeats(owners, column)
            if repeats.size:
                kept = np.delete(np.arange(owners.size), repeats)
                owners, column = owners[kept], column.take(pa.array(kept))
            self._sets = owners, column
        return self._sets

    def _keys(self) -> list[pa.Array]:
        """Return the groups and the keys of all elements, those that Spark sorts before those that it had."""
        if self._hashed is None:
            return self._table.keys(0, self._table.count)
        both = self._new_table()
        for part in (self._table, self._hashed):
            both.group_ids(part.keys(0, part.count))
        return both.keys(0, both.count)

    def largest(self, start: int, stop: int) -> Int64Array:
        """Return the sizes of the largest sets merged into groups ``start`` ≤ g < ``stop``; 0 if none was."""
        return self._largest.part(start, stop)


@aggregate(
    "CollectSet",
    [
        case(_OTHERS, distinct=False, max_precision=MOST_DIGITS, fields=IGNORES_NULLS, settings=_PLANNED),
        case(FLOATING, distinct=False, fields={"ignoreNulls": ["true"]}, settings=_PLANNED),
        case(FLOATING, distinct=False, fields={"ignoreNulls": ["absent"]}, without_nan=[0], settings=_PLANNED),
    ],
)
class CollectSet(ListFunction):
    """The distinct values that are not NULL; an empty array if there is none."""

    is_cut_by_flush = True

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        kind = call.arg_types[0]
        has_bits = settings.is_spark(4, 3)
        is_shortest = ExpressionSettings.of(settings).prints_shortest_digits
        self._state: SetState = self.state(
            lambda: SetState(
                set_elements(kind, has_bits=has_bits, is_shortest=is_shortest), is_last=call.finalizes
            ), "set", kind,
        )  # fmt: skip

    def result(self, start: int, stop: int) -> pa.Array:
        bounds, column = self._state.rows(start, stop)
        sizes = np.diff(bounds)
        largest = self._state.largest(start, stop)
        chains = count_chains(np.where(largest > 0, largest, sizes))
        elements = self._state.elements
        order = set_order(element_rows(sizes), elements.hashes(column), chains)
        return pa.ListArray.from_arrays(bounds.astype(np.int32), elements.decode(column.take(pa.array(order))))


@warm_up
def _load_kernels() -> None:
    examples = (("bigint", [1, 2]), ("string", ["a", "b"]), ("decimal(9,2)", [Decimal(1), Decimal("1.5")]))
    for kind, items in examples:
        state = SetState(set_elements(parse_type(kind), has_bits=True, is_shortest=False), is_last=False)
        state.reserve(1)
        state.update(np.zeros(2, dtype=np.int64), [pa.array(items).cast(parse_type(kind).arrow)])
        state.elements.hashes(state.rows(0, 1)[1])
        state.merge(np.zeros(1, dtype=np.int64), state.buffers(0, 1))
