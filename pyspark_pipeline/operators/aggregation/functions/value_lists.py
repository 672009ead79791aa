"""The lists of functions that collect the values of a group, in memory and in Spark's serialized form."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.errors import ResourceExhaustedError
from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array
from pyspark_pipeline.kernels.partition import grouped_order
from pyspark_pipeline.kernels.unsafe_arrays import read_lists, write_lists
from pyspark_pipeline.kernels.unsafe_values import of_stored, stored_type, to_stored
from pyspark_pipeline.operators.aggregation.functions.registry import AggregateFunction
from pyspark_pipeline.operators.aggregation.functions.state import State

#: Decimals of more digits have another form in buffers.
MOST_DIGITS = 18
#: Spark 4.3 can also keep NULLs.
IGNORES_NULLS = {"ignoreNulls": ["true", "absent"]}
_MAX_BYTES = 2**31 - 1


class CollectedState(State):
    """Values of each group; the buffer has them in Spark's serialized form."""

    @abstractmethod
    def merge(self, groups: Int64Array, buffers: pa.Array) -> None:
        """Add the values of buffers."""

    @abstractmethod
    def buffers(self, start: int, stop: int) -> pa.Array:
        """Return the buffers of groups ``start`` ≤ g < ``stop``."""


class ListState(CollectedState):
    """The rows of each group whose first column is not NULL, or all if it ``keeps_null``, in their order.

    If they ``are_structs``, there is one column, whose fields have ``kinds``.
    """

    def __init__(self, kinds: Sequence[DataType], *, are_structs: bool = False, keeps_null: bool = False) -> None:
        self._types = [kind.arrow for kind in kinds]
        self._are_structs = are_structs
        self._keeps_null = keeps_null
        self._pieces: list[tuple[Int64Array, list[pa.Array]]] = []
        self._is_grouped = True
        self._bytes = 0

    @property
    def nbytes(self) -> int:
        return self._bytes

    def reserve(self, groups: int) -> None:
        """Groups without rows take no space."""

    def clear(self) -> None:
        self._pieces, self._is_grouped, self._bytes = [], True, 0

    def take(self, groups: Int64Array) -> None:
        owners, columns = self._grouped()
        numbers = np.full(int(max(owners.max(initial=0), groups.max(initial=0))) + 1, -1, dtype=np.int64)
        numbers[groups] = np.arange(groups.size)
        kept = np.flatnonzero(numbers[owners] >= 0)
        self.clear()
        self._append(numbers[owners[kept]], [column.take(pa.array(kept)) for column in columns])

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        first = columns[0]
        if first.null_count and not self._keeps_null:
            rows = np.flatnonzero(np.asarray(first.is_valid()))
            groups, columns = groups[rows], [column.take(pa.array(rows)) for column in columns]
        self._append(groups.copy(), columns[0].flatten() if self._are_structs else columns)

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        raise NotImplementedError("lists of values are not a state of running frames")

    def merge(self, groups: Int64Array, buffers: pa.Array) -> None:
        stored = [stored_type(kind) for kind in self._types]
        owners, columns = read_lists(groups, buffers, stored, are_rows=self._are_structs)
        self._append(owners, [of_stored(*pair) for pair in zip(columns, self._types, strict=True)])

    def _append(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        if groups.size:
            plain = [plain_column(column, kind) for column, kind in zip(columns, self._types, strict=True)]
            self._pieces.append((groups, plain))
            self._is_grouped = False
            self._bytes += groups.nbytes + sum(column.nbytes for column in plain)

    def rows(self, start: int, stop: int) -> tuple[Int64Array, list[pa.Array]]:
        """Return the bounds of groups ``start`` ≤ g < ``stop`` in their rows, which are returned as columns."""
        owners, columns = self._grouped()
        bounds = np.searchsorted(owners, np.arange(start, stop + 1))
        rows = slice(int(bounds[0]), int(bounds[-1]))
        return bounds - bounds[0], [column[rows] for column in columns]

    def buffers(self, start: int, stop: int) -> pa.Array:
        bounds, columns = self.rows(start, stop)
        return list_buffers([to_stored(column) for column in columns], bounds, are_rows=self._are_structs)

    def _grouped(self) -> tuple[Int64Array, list[pa.Array]]:
        """Return the groups of all rows, ascending, and the columns."""
        if not self._pieces:
            return np.empty(0, dtype=np.int64), [pa.nulls(0, kind) for kind in self._types]
        if not self._is_grouped:
            owners = np.concatenate([groups for groups, _ in self._pieces])
            order = grouped_order(owners)
            parts = zip(*(columns for _, columns in self._pieces), strict=True)
            self._pieces = [(owners[order], [pa.concat_arrays(part).take(pa.array(order)) for part in parts])]
            self._is_grouped = True
        return self._pieces[0]


class ListFunction(AggregateFunction):
    """A function of the collected values of each group."""

    _state: CollectedState

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        self._state.merge(groups, buffers[0])

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return [self._state.buffers(start, stop)]


def list_buffers(
    columns: Sequence[pa.Array], bounds: Int64Array, marks: Int64Array | None = None, *, are_rows: bool = False
) -> pa.Array:
    """Return lists, whose rows begin and end at ``bounds``, in Spark's serialized form; binary.

    ``are_rows`` as in :func:`write_lists`. Raise :class:`ResourceExhaustedError` if they do not fit one column.
    """
    offsets, data = write_lists(columns, bounds, marks, are_rows=are_rows)
    check_size(int(offsets[-1]))
    ends = pa.py_buffer(offsets.astype(np.int32))
    return pa.Array.from_buffers(pa.binary(), bounds.size - 1, [None, ends, pa.py_buffer(data)])


def check_size(count: int) -> None:
    """Raise :class:`ResourceExhaustedError` if lists of ``count`` bytes do not fit one column."""
    if count > _MAX_BYTES:
        raise ResourceExhaustedError(f"{count} bytes of lists of values do not fit one column")


def plain_column(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return a column as one of ``kind``, without a dictionary."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column if column.type == kind else column.cast(kind)
