"""The state of functions that need all values of a group: how often each value occurs.

Rows are appended, and from time to time sorted, so that equal values become one with a count. Spark has a hash map per
group, which the buffer holds in its serialized form.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array
from pyspark_pipeline.kernels.buffers import allocate, grown, validity
from pyspark_pipeline.kernels.value_counts import (
    append_counts,
    append_rows,
    combine_entries,
    find_bounds,
    sort_entries,
)
from pyspark_pipeline.operators.aggregation.functions.registry import AggregateFunction
from pyspark_pipeline.operators.aggregation.functions.state import State
from pyspark_pipeline.operators.aggregation.functions.value_codes import ValueCoder

#: Entries are combined once their number has doubled, but not before there are so many.
_MIN_ENTRIES = 1 << 16
_FIRST_ENTRIES = 1 << 10


class ValueCountState(State):
    """The counts of the values of each group that are not NULL; a row adds ``count`` to that of its value."""

    def __init__(self, coder: ValueCoder, count: int = 1) -> None:
        self.coder = coder
        self.stride = coder.words + 2
        self._count = count
        self.entries: Int64Array = np.empty(0, dtype=np.int64)
        self._size = 0
        self._limit = _MIN_ENTRIES
        self._is_combined = True
        self._groups = 0

    @property
    def nbytes(self) -> int:
        return self.entries.nbytes + self.coder.nbytes

    def reserve(self, groups: int) -> None:
        self._groups = max(self._groups, groups)

    def take(self, groups: Int64Array) -> None:
        if np.array_equal(groups, np.arange(self._groups)):
            return
        numbers = np.full(self._groups, -1, dtype=np.int64)
        numbers[groups] = np.arange(groups.size)
        rows = self._rows()
        kept = rows[numbers[rows[:, 0]] >= 0]
        kept[:, 0] = numbers[kept[:, 0]]
        self.entries, self._size, self._groups = kept.reshape(-1), len(kept), groups.size
        self._is_combined = False

    def clear(self) -> None:
        self.coder.clear()
        self._size, self._limit, self._is_combined = 0, _MIN_ENTRIES, True

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        column = columns[0]
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if self._count == 0 or column.null_count == len(column):
            return
        codes = self.coder.encode(column)
        self._make_room(groups.size)
        self._size = append_rows(
            groups, codes, *validity(column), self._count, self.stride, self.entries, self._size
        )

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        raise NotImplementedError("the counts of values are not a state of running frames")

    def merge(self, groups: Int64Array, buffers: pa.Array) -> None:
        """Merge partial counts."""
        owners, codes, counts = self.coder.read(groups, buffers)
        self._make_room(counts.size)
        self._size = append_counts(owners, codes, counts, self.stride, self.entries, self._size)

    def columns(self, start: int, stop: int) -> list[pa.Array]:
        """Return the counts as a column of serialized hash maps."""
        bounds = self.bounds(start, stop)
        which = slice(bounds[0], bounds[-1])
        counts = np.ascontiguousarray(self._rows()[which, -1])
        return [self.coder.write(self.codes(which), counts, bounds)]

    def bounds(self, start: int, stop: int) -> Int64Array:
        """Return the first entry of each group and the end of the last group; the entries are sorted by value."""
        self._combine()
        bounds = np.empty(stop - start + 1, dtype=np.int64)
        find_bounds(self.entries, self.stride, self._size, start, bounds)
        return bounds

    def codes(self, which: slice | Int64Array) -> Int64Array:
        """Return the codes of some entries; int64, one after the other."""
        return np.ascontiguousarray(self._rows()[which, 1:-1]).reshape(-1)

    def _rows(self) -> Int64Array:
        return self.entries[: self._size * self.stride].reshape(-1, self.stride)

    def _make_room(self, more: int) -> None:
        """Combine the entries if there are many new ones; grow for ``more`` entries."""
        if self._size + more > self._limit:
            self._combine()
            self._limit = max(2 * self._size, _MIN_ENTRIES) + more
        held = self.entries.size // self.stride
        if self._size + more > held:
            self.entries = grown(self.entries, max(self._size + more, 2 * held, _FIRST_ENTRIES) * self.stride)
        self._is_combined = False

    def _combine(self) -> None:
        if self._is_combined:
            return
        spare = allocate(self.entries.size, np.int64)
        if sort_entries(self.entries, spare, self.stride, self._size):
            self.entries = spare
        self._size = combine_entries(self.entries, self.stride, self._size)
        self._is_combined = True


class ValueCountFunction(AggregateFunction):
    """A function of the counts of all values; the buffer is Spark's hash map of the values and their counts."""

    _state: ValueCountState

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        self._state.merge(groups, buffers[0])

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return self._state.columns(start, stop)
