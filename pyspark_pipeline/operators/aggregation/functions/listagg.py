"""LISTAGG and STRING_AGG: the strings of a group one after the other, in the order of the rows or of sort keys.

DISTINCT without sort keys stays in Spark, whose result has the order of a hash map.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.errors import ResourceExhaustedError
from pyspark_pipeline.expressions.cases import ORDERED, case
from pyspark_pipeline.kernels.buffers import Array
from pyspark_pipeline.kernels.sort_fields import SortColumn
from pyspark_pipeline.kernels.sort_order import order_rows
from pyspark_pipeline.kernels.unsafe_arrays import read_lists, write_lists
from pyspark_pipeline.operators.aggregation.functions.registry import AggregateFunction, aggregate
from pyspark_pipeline.operators.aggregation.functions.state import State, StatePool, warm_up
from pyspark_pipeline.plan.expr import Call, Expr
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

_KEYS = tuple(kind for kind in ORDERED if kind != "decimal")
_TEXTS = (["string"], ["string", "void"]), (["binary"], ["binary", "void"])
_MAX_BYTES = 2**31 - 1


class ListState(State):
    """The rows of each group whose first column is not NULL, in their order."""

    def __init__(self, kinds: Sequence[DataType]) -> None:
        self._types = [kind.arrow for kind in kinds]
        self._pieces: list[tuple[Array, list[pa.Array]]] = []
        self._is_grouped = True
        self._bytes = 0

    @property
    def nbytes(self) -> int:
        return self._bytes

    def reserve(self, groups: int) -> None:
        """Groups without rows take no space."""

    def clear(self) -> None:
        self._pieces, self._is_grouped, self._bytes = [], True, 0

    def take(self, groups: Array) -> None:
        owners, columns = self._grouped()
        numbers = np.full(int(max(owners.max(initial=0), groups.max(initial=0))) + 1, -1, dtype=np.int64)
        numbers[groups] = np.arange(groups.size)
        kept = np.flatnonzero(numbers[owners] >= 0)
        self.clear()
        self._append(numbers[owners[kept]], [column.take(pa.array(kept)) for column in columns])

    def update(self, groups: Array, columns: Sequence[pa.Array]) -> None:
        first = columns[0]
        if first.null_count:
            rows = np.flatnonzero(np.asarray(first.is_valid()))
            groups, columns = groups[rows], [column.take(pa.array(rows)) for column in columns]
        self._append(groups.copy(), columns)

    def scan(self, starts: Array, columns: Sequence[pa.Array]) -> None:
        raise NotImplementedError("lists of values are not a state of running frames")

    def merge(self, groups: Array, buffers: pa.Array) -> None:
        """Append the rows of lists."""
        self._append(*read_lists(groups, buffers, self._types))

    def _append(self, groups: Array, columns: Sequence[pa.Array]) -> None:
        if groups.size:
            plain = [_plain(column, kind) for column, kind in zip(columns, self._types, strict=True)]
            self._pieces.append((groups, plain))
            self._is_grouped = False
            self._bytes += groups.nbytes + sum(column.nbytes for column in plain)

    def rows(self, start: int, stop: int) -> tuple[Array, list[pa.Array]]:
        """Return the bounds of groups ``start`` ≤ g < ``stop`` in their rows, which are returned as columns."""
        owners, columns = self._grouped()
        bounds = np.searchsorted(owners, np.arange(start, stop + 1))
        rows = slice(int(bounds[0]), int(bounds[-1]))
        return bounds - bounds[0], [column[rows] for column in columns]

    def _grouped(self) -> tuple[Array, list[pa.Array]]:
        """Return the groups of all rows, ascending, and the columns."""
        if not self._pieces:
            return np.empty(0, dtype=np.int64), [pa.nulls(0, kind) for kind in self._types]
        if not self._is_grouped:
            owners = np.concatenate([groups for groups, _ in self._pieces])
            order = np.argsort(owners, kind="stable")
            parts = zip(*(columns for _, columns in self._pieces), strict=True)
            self._pieces = [(owners[order], [pa.concat_arrays(part).take(pa.array(order)) for part in parts])]
            self._is_grouped = True
        return self._pieces[0]


def list_buffers(state: ListState, start: int, stop: int) -> pa.Array:
    """Return the lists of groups ``start`` ≤ g < ``stop`` in Spark's serialized form; binary.

    Raise :class:`ResourceExhaustedError` if they do not fit one column.
    """
    bounds, columns = state.rows(start, stop)
    offsets, data = write_lists(columns, bounds)
    _check_size(int(offsets[-1]))
    ends = pa.py_buffer(offsets.astype(np.int32))
    return pa.Array.from_buffers(pa.binary(), stop - start, [None, ends, pa.py_buffer(data)])


def _plain(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column if column.type == kind else column.cast(kind)


@aggregate(
    "ListAgg",
    [case(*texts, literal=[1], distinct=False) for texts in _TEXTS]
    + [case(*texts, _KEYS, variadic=True, literal=[1]) for texts in _TEXTS],
)
class ListAgg(AggregateFunction):
    """The values that are not NULL, separated by a constant; NULL if there is none."""

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        kinds = [call.arg_types[0]] if call.is_sorted_by_first else [call.arg_types[0], *call.arg_types[2:]]
        columns = _columns(call.args)[: len(kinds)]
        self._state = self.state(lambda: ListState(kinds), "list", *kinds, arguments=columns)
        self._delimiter = pa.scalar(call.constant(1) or b"", call.type.arrow)

    def merge(self, groups: Array, buffers: Sequence[pa.Array]) -> None:
        self._state.merge(groups, buffers[0])

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return [list_buffers(self._state, start, stop)]

    def result(self, start: int, stop: int) -> pa.Array:
        bounds, columns = self._state.rows(start, stop)
        texts = columns[0]
        if self.call.orders:
            owners = np.repeat(np.arange(stop - start), np.diff(bounds))
            read = columns[-len(self.call.orders) :]
            keys = [SortColumn(pa.array(owners), False, True)]
            keys += [SortColumn(column, *order) for column, order in zip(read, self.call.orders, strict=True)]
            texts = texts.take(pa.array(order_rows(keys, len(texts))))
        _check_size(texts.nbytes + len(texts) * len(self._delimiter.as_buffer()))
        lists = pa.ListArray.from_arrays(bounds.astype(np.int32), texts, mask=pa.array(np.diff(bounds) == 0))
        return pc.binary_join(lists, self._delimiter)


def _columns(args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Return the value and the sort keys, which are arguments of sort orders."""
    return (*args[:1], *(order.args[0] for order in args[2:] if isinstance(order, Call)))


def _check_size(count: int) -> None:
    if count > _MAX_BYTES:
        raise ResourceExhaustedError(f"{count} bytes of lists of values do not fit one column")


@warm_up
def _load_kernels() -> None:
    for kinds in (["string"], ["string", "string", "bigint"]):
        state = ListState([parse_type(kind) for kind in kinds])
        columns = [pa.array(["a", "b"]), pa.array(["a", None]), pa.array([1, 2])][: len(kinds)]
        state.update(np.zeros(2, dtype=np.int64), columns)
        state.merge(np.zeros(1, dtype=np.int64), list_buffers(state, 0, 1))
