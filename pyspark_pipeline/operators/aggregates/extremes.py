"""MIN and MAX over every ordered type: NaN is the largest, strings compare by their bytes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.kernels.accumulate import copy_live, least_decimals, least_doubles, least_longs, least_strings
from pyspark_pipeline.kernels.buffers import (
    Array,
    allocate,
    bits,
    bool_array,
    decimal_words,
    fixed_array,
    string_parts,
    validity,
    values,
)
from pyspark_pipeline.kernels.group_kernels import unpack_bits
from pyspark_pipeline.operators.aggregates.registry import AggregateFunction, aggregate
from pyspark_pipeline.operators.aggregates.state import PerGroup, State, StatePool
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

ORDERED = [
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double",
    "decimal", "string", "binary", "date", "timestamp", "timestamp_ntz",
]  # fmt: skip
#: Strings are taken so many bytes at a time, for whose best there must be room.
_PIECE_BYTES = 1 << 18


class ExtremeState(State):
    """The least (``sign`` 1) or largest (``sign`` −1) value of every group."""

    def __init__(self, kind: DataType, sign: int) -> None:
        self.kind = kind
        self.sign = sign
        self.seen = PerGroup(np.uint8)

    @abstractmethod
    def column(self, start: int, stop: int) -> pa.Array:
        """Give the values; NULL where none came."""

    def valid(self, start: int, stop: int) -> Array:
        """Say where a value came; bool."""
        came: Array = self.seen.part(start, stop) != 0
        return came


class LongExtreme(ExtremeState):
    """Integers, dates, timestamps and booleans."""

    def __init__(self, kind: DataType, sign: int) -> None:
        super().__init__(kind, sign)
        self._best = PerGroup(np.int64)
        self.arrays = (self._best, self.seen)

    def update(self, groups: Array, columns: Sequence[pa.Array]) -> None:
        column = columns[0]
        if self.kind.kind == "boolean":
            data: Array = np.empty(len(column), dtype=np.int64)
            unpack_bits(*bits(column), data)
        else:
            data = values(column).astype(np.int64, copy=False)
        least_longs(groups, data, *validity(column), self.sign, self._best.array, self.seen.array)

    def column(self, start: int, stop: int) -> pa.Array:
        best, valid = self._best.part(start, stop), self.valid(start, stop)
        if self.kind.kind == "boolean":
            return bool_array(best != 0, valid)
        width = self.kind.arrow.bit_width // 8
        return fixed_array(self.kind.arrow, best.astype(f"<i{width}"), valid)


class DoubleExtreme(ExtremeState):
    """Floating numbers."""

    def __init__(self, kind: DataType, sign: int) -> None:
        super().__init__(kind, sign)
        self._best = PerGroup(np.float64)
        self.arrays = (self._best, self.seen)

    def update(self, groups: Array, columns: Sequence[pa.Array]) -> None:
        data = values(columns[0]).astype(np.float64, copy=False)
        least_doubles(groups, data, *validity(columns[0]), self.sign, self._best.array, self.seen.array)

    def column(self, start: int, stop: int) -> pa.Array:
        width = self.kind.arrow.bit_width // 8
        best = self._best.part(start, stop).astype(f"<f{width}")
        return fixed_array(self.kind.arrow, best, self.valid(start, stop))


class DecimalExtreme(ExtremeState):
    """Decimals."""

    def __init__(self, kind: DataType, sign: int) -> None:
        super().__init__(kind, sign)
        self._best = PerGroup(np.int64, 2)
        self.arrays = (self._best, self.seen)

    def update(self, groups: Array, columns: Sequence[pa.Array]) -> None:
        words = decimal_words(columns[0])
        least_decimals(groups, words, *validity(columns[0]), self.sign, self._best.array, self.seen.array)

    def column(self, start: int, stop: int) -> pa.Array:
        return fixed_array(self.kind.arrow, self._best.part(start, stop).copy(), self.valid(start, stop))


class StringExtreme(ExtremeState):
    """Strings and byte strings; replaced ones are garbage in the arena until it is compacted."""

    def __init__(self, kind: DataType, sign: int) -> None:
        super().__init__(kind, sign)
        self._starts = PerGroup(np.int64)
        self._ends = PerGroup(np.int64)
        self.arrays = (self._starts, self._ends, self.seen)
        self._arena: Array = np.empty(0, dtype=np.uint8)
        self._used = 0

    @property
    def nbytes(self) -> int:
        return super().nbytes + self._arena.nbytes

    def clear(self) -> None:
        super().clear()
        self._used = 0

    def update(self, groups: Array, columns: Sequence[pa.Array]) -> None:
        column = columns[0]
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        for start, stop in _pieces(string_parts(column)[0]):
            self._update(groups[start:stop], column.slice(start, stop - start))

    def _update(self, groups: Array, column: pa.Array) -> None:
        """Take some rows; there is room for all their strings, of which few may stay."""
        offsets, data = string_parts(column)
        self._reserve_bytes(int(offsets[-1]) - int(offsets[0]))
        self._used = least_strings(
            groups, offsets, data, *validity(column), self.sign,
            self._arena, self._used, self._starts.array, self._ends.array, self.seen.array,
        )  # fmt: skip

    def _reserve_bytes(self, more: int) -> None:
        if self._used + more <= self._arena.size:
            return
        live = int((self._ends.array - self._starts.array).sum())
        larger = allocate(2 * (live + more), np.uint8)
        self._used = copy_live(self._arena, self._starts.array, self._ends.array, self.seen.array, larger)
        self._arena = larger

    def column(self, start: int, stop: int) -> pa.Array:
        starts, ends = self._starts.part(start, stop).copy(), self._ends.part(start, stop).copy()
        out = allocate(int((ends - starts).sum()), np.uint8)
        valid = self.valid(start, stop)
        copy_live(self._arena, starts, ends, valid.view(np.uint8), out)
        offsets = np.zeros(stop - start + 1, dtype=np.int32)
        offsets[1:] = ends
        mask = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
        return pa.Array.from_buffers(self.kind.arrow, stop - start, [mask, pa.py_buffer(offsets), pa.py_buffer(out)])


def _pieces(offsets: Array) -> Iterator[tuple[int, int]]:
    """Give the rows, from … to, of pieces of few bytes, at least one row each."""
    start, rows = 0, offsets.size - 1
    while start < rows:
        stop = int(np.searchsorted(offsets, offsets[start] + _PIECE_BYTES, side="right")) - 1
        stop = max(stop, start + 1)
        yield start, stop
        start = stop


_STATES: dict[str, type[ExtremeState]] = {
    "float": DoubleExtreme,
    "double": DoubleExtreme,
    "decimal": DecimalExtreme,
    "string": StringExtreme,
    "binary": StringExtreme,
}


class _Extreme(AggregateFunction):
    """MIN or MAX; the buffer is the value so far, NULL before the first."""

    sign = 1

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        made = _STATES.get(call.type.kind, LongExtreme)
        self._state = self.state(lambda: made(call.type, self.sign), "extreme", call.type, self.sign)

    def merge(self, groups: Array, buffers: Sequence[pa.Array]) -> None:
        self._state.update(groups, buffers)

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return [self._state.column(start, stop)]

    def result(self, start: int, stop: int) -> pa.Array:
        return self._state.column(start, stop)


@aggregate("Min", [{"args": [ORDERED]}], when=lambda call: call.type.kind in ORDERED)
class Min(_Extreme):
    """The least value that is not NULL."""


@aggregate("Max", [{"args": [ORDERED]}], when=lambda call: call.type.kind in ORDERED)
class Max(_Extreme):
    """The largest value that is not NULL."""

    sign = -1
