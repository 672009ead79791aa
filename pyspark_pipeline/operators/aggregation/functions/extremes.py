"""MIN and MAX over every ordered type: NaN is the largest, strings compare by their bytes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType, parse_type
from pyspark_pipeline.expressions.cases import ORDERED, case
from pyspark_pipeline.kernels.accumulate import copy_live, least_decimals, least_doubles, least_longs, least_strings
from pyspark_pipeline.kernels.arrays import BoolArray, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.buffers import (
    NO_BITS,
    allocate,
    binary_array,
    bits,
    bool_array,
    copied,
    decimal_words,
    fixed_array,
    string_parts,
    validity,
    values,
)
from pyspark_pipeline.kernels.extreme_rows import mark_decimals, mark_doubles, mark_longs, mark_strings, note_extremes
from pyspark_pipeline.kernels.frames import frame_least
from pyspark_pipeline.kernels.group_kernels import unpack_bits
from pyspark_pipeline.kernels.jit import frozen
from pyspark_pipeline.kernels.running import run_least
from pyspark_pipeline.kernels.sort_fields import SortColumn, ordinals
from pyspark_pipeline.kernels.sort_order import rank_rows
from pyspark_pipeline.operators.aggregation.functions.registry import FRAMES, ValueFunction, aggregate
from pyspark_pipeline.operators.aggregation.functions.state import (
    Groups,
    PerGroup,
    StatePool,
    ValueState,
    updated,
    warm_up,
)
from pyspark_pipeline.plan.nodes import AggregateCall, Settings

#: Strings are processed in pieces of this many bytes; the arena must have space for a whole piece.
_PIECE_BYTES = 1 << 18
#: Kinds whose values are ranked by sorting; the others are numbers.
_SORTED_KINDS = ("string", "binary", "decimal")


class ExtremeState(ValueState):
    """The least (``sign`` 1) or largest (``sign`` −1) value of every group."""

    def __init__(self, kind: DataType, sign: int) -> None:
        self.kind = kind
        self.sign = sign
        self.seen = PerGroup(np.uint8)

    @abstractmethod
    def load(self, best: pa.Array) -> None:
        """Set the first groups to values."""

    @abstractmethod
    def mark(self, groups: Int64Array, column: pa.Array, places: Int64Array) -> None:
        """Update with a plain column; mark in ``places`` the rows of the extremes (``kernels/extreme_rows.py``)."""

    def running_extremes(self, groups: Int64Array, column: pa.Array) -> BoolArray:
        """Return which rows would have the extreme of their group, or one equal to it, when they are added: bool."""
        column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        held = self.column(0, self.seen.array.size)
        ranks = self._ranks(pa.concat_arrays([held, column]))
        marked = np.zeros(groups.size, dtype=np.bool_)
        best, seen = ranks[: len(held)].copy(), self.seen.array.copy()
        note_extremes(groups, ranks[len(held) :], *validity(column), best, seen, marked)
        return marked

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        self.run(starts, columns[0], is_last=False)

    def run(self, starts: BoolArray, column: pa.Array, *, is_last: bool) -> Int64Array:
        """Scan a column; of rows with equal values the first or the last one has the extreme.

        Return the row number + 1 of every group's extreme, 0 for that of group 0, −1 for none; int64.
        """
        values = pa.concat_arrays([self.column(0, 1), column])
        rows = np.zeros(len(values), dtype=np.int64)
        run_least(starts, self._ranks(values), *validity(values), is_last, rows[1:])
        self._load_rows(values, rows)
        return rows

    def over(self, begin: Int64Array, end: Int64Array, columns: Sequence[pa.Array]) -> None:
        column, rows = columns[0], np.empty(begin.size, dtype=np.int64)
        frame_least(begin, end, self._ranks(column), *validity(column), rows)
        self._load_rows(column, rows)

    def _load_rows(self, column: pa.Array, rows: Int64Array) -> None:
        """Set the first groups to the values of rows; they are empty if the row is negative."""
        found = column.take(pa.array(rows, mask=rows < 0))
        self.seen.array[: len(found)] = np.asarray(found.is_valid())
        self.load(found)

    def _ranks(self, column: pa.Array) -> Int64Array:
        """Return int64 numbers that sort like the values, descending for the largest; arbitrary for NULL."""
        if self.kind.kind in _SORTED_KINDS:
            return rank_rows([SortColumn(column, self.sign < 0, True)], len(column))
        ranks = ordinals(column).astype(np.int64, copy=False)
        return ranks if self.sign > 0 else ~ranks

    def valid(self, start: int, stop: int) -> BoolArray:
        """Return which groups have a value; bool, shape (groups,)."""
        present: BoolArray = self.seen.part(start, stop) != 0
        return present


class LongExtreme(ExtremeState):
    """Integers, dates, timestamps and booleans."""

    def __init__(self, kind: DataType, sign: int) -> None:
        super().__init__(kind, sign)
        self._best = PerGroup(np.int64)
        self.arrays = (self._best, self.seen)

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        column = columns[0]
        least_longs(groups, self._numbers(column), *validity(column), self.sign, self._best.array, self.seen.array)

    def mark(self, groups: Int64Array, column: pa.Array, places: Int64Array) -> None:
        data = self._numbers(column)
        mark_longs(groups, data, *validity(column), self.sign, self._best.array, self.seen.array, places)

    def load(self, best: pa.Array) -> None:
        self._best.array[: len(best)] = self._numbers(best)

    def _numbers(self, column: pa.Array) -> Int64Array:
        if self.kind.kind != "boolean":
            return values(column).astype(np.int64, copy=False)
        data: Int64Array = np.empty(len(column), dtype=np.int64)
        unpack_bits(*bits(column), data)
        return data

    def column(self, start: int, stop: int) -> pa.Array:
        best, valid = self._best.part(start, stop), self.valid(start, stop)
        if self.kind.kind == "boolean":
            return bool_array(best != 0, valid)
        width = self.kind.arrow.bit_width // 8
        return fixed_array(self.kind.arrow, best.astype(f"<i{width}"), valid)


class WholeLongExtreme(LongExtreme):
    """The extreme of an aggregation without keys."""

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        column = columns[0].drop_null() if columns[0].null_count else columns[0]
        numbers = values(column) if self.kind.kind != "boolean" else self._numbers(column)
        if numbers.size:
            found = np.array([numbers.min() if self.sign > 0 else numbers.max()], dtype=np.int64)
            least_longs(groups[:1], found, NO_BITS, 0, self.sign, self._best.array, self.seen.array)


class DoubleExtreme(ExtremeState):
    """Floating numbers."""

    def __init__(self, kind: DataType, sign: int) -> None:
        super().__init__(kind, sign)
        self._best = PerGroup(np.float64)
        self.arrays = (self._best, self.seen)

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        data = values(columns[0]).astype(np.float64, copy=False)
        least_doubles(groups, data, *validity(columns[0]), self.sign, self._best.array, self.seen.array)

    def mark(self, groups: Int64Array, column: pa.Array, places: Int64Array) -> None:
        data = values(column).astype(np.float64, copy=False)
        mark_doubles(groups, data, *validity(column), self.sign, self._best.array, self.seen.array, places)

    def load(self, best: pa.Array) -> None:
        self._best.array[: len(best)] = values(best)

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

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        words = decimal_words(columns[0])
        least_decimals(groups, words, *validity(columns[0]), self.sign, self._best.array, self.seen.array)

    def mark(self, groups: Int64Array, column: pa.Array, places: Int64Array) -> None:
        words = decimal_words(column)
        mark_decimals(groups, words, *validity(column), self.sign, self._best.array, self.seen.array, places)

    def load(self, best: pa.Array) -> None:
        self._best.array[: 2 * len(best)] = decimal_words(best)

    def column(self, start: int, stop: int) -> pa.Array:
        return fixed_array(self.kind.arrow, copied(self._best.part(start, stop)), self.valid(start, stop))


class StringExtreme(ExtremeState):
    """Strings and byte strings; replaced values remain in the arena until it is compacted.

    Of rows with equal extremes the last one is marked, or the first one unless ``marks_last``.
    """

    def __init__(self, kind: DataType, sign: int, *, marks_last: bool = True) -> None:
        super().__init__(kind, sign)
        self._marks_last = marks_last
        self._starts = PerGroup(np.int64)
        self._ends = PerGroup(np.int64)
        self.arrays = (self._starts, self._ends, self.seen)
        self._arena: UInt8Array = np.empty(0, dtype=np.uint8)
        self._used = 0

    @property
    def nbytes(self) -> int:
        return super().nbytes + self._arena.nbytes

    def clear(self) -> None:
        super().clear()
        self._used = 0

    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        column = columns[0]
        if pa.types.is_dictionary(column.type):
            groups, column = self._extremes_by_code(groups, column)
        for start, stop in _pieces(string_parts(column)[0]):
            self._update(groups[start:stop], column.slice(start, stop - start))

    def mark(self, groups: Int64Array, column: pa.Array, places: Int64Array) -> None:
        for start, stop in _pieces(string_parts(column)[0]):
            piece = column.slice(start, stop - start)
            offsets, data = string_parts(piece)
            self._reserve_bytes(int(offsets[-1]) - int(offsets[0]))
            self._used = mark_strings(
                groups[start:stop], start, offsets, data, *validity(piece), self.sign, self._marks_last,
                self._arena, self._used, self._starts.array, self._ends.array, self.seen.array, places,
            )  # fmt: skip

    def load(self, best: pa.Array) -> None:
        offsets, data = string_parts(best)
        self._starts.array[: len(best)], self._ends.array[: len(best)] = offsets[:-1], offsets[1:]
        self._arena, self._used = data.copy(), data.size

    def _extremes_by_code(self, groups: Int64Array, column: pa.DictionaryArray) -> tuple[Int64Array, pa.Array]:
        """Return one string per group of a chunk that has at most as many groups as rows, else all decoded strings.

        Strings are compared by the rank of their code; each distinct string is ranked once.
        """
        held, dictionary = self.seen.array.size, column.dictionary
        if held > len(column) or not 0 < len(dictionary) <= len(column) or dictionary.null_count:
            return groups, column.dictionary_decode()
        order = pc.array_sort_indices(dictionary)
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[values(order)] = np.arange(len(order))
        ranked = frozen(np.take(ranks, values(column.indices), mode="clip"))  # the code of a NULL is any number
        best, seen = np.zeros(held, dtype=np.int64), np.zeros(held, dtype=np.uint8)
        least_longs(groups, ranked, *validity(column), self.sign, best, seen)
        present = np.flatnonzero(seen)
        return present, dictionary.take(order.take(pa.array(best[present])))

    def _update(self, groups: Int64Array, column: pa.Array) -> None:
        """Update with some rows; the arena is reserved for all their strings, though few may be kept."""
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
        starts, ends = copied(self._starts.part(start, stop)), copied(self._ends.part(start, stop))
        out = allocate(int((ends - starts).sum()), np.uint8)
        valid = self.valid(start, stop)
        copy_live(self._arena, starts, ends, valid.view(np.uint8), out)
        offsets = np.zeros(stop - start + 1, dtype=np.int32)
        offsets[1:] = ends
        return binary_array(self.kind.arrow, offsets, out, valid)


def _pieces(offsets: Int32Array) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of pieces of at most ``_PIECE_BYTES``, of at least one row each."""
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


def extreme_state(kind: DataType, sign: int, groups: Groups = Groups.BY_KEYS) -> ExtremeState:
    """Build the state of the least (``sign`` 1) or largest (−1) value of a type."""
    of_numbers = WholeLongExtreme if groups is Groups.ONE else LongExtreme
    return _STATES.get(kind.kind, of_numbers)(kind, sign)


@warm_up
def _load_kernels() -> None:
    updated(LongExtreme(parse_type("bigint"), 1), pa.array([1, None]))
    updated(DoubleExtreme(parse_type("double"), 1), pa.array([1.0, None]))
    updated(DecimalExtreme(parse_type("decimal(20,0)"), 1), pa.array([1, None]).cast(pa.decimal128(20, 0)))
    updated(StringExtreme(parse_type("string"), 1), pa.array(["a", None])).column(0, 1)


class _Extreme(ValueFunction):
    """MIN or MAX."""

    ignores_order = True

    sign = 1

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        super().__init__(call, pool, settings)
        kind = call.type, self.sign
        self._state = self.state(lambda: extreme_state(*kind, pool.groups), "extreme", *kind)


@aggregate("Min", [case(ORDERED, frames=FRAMES)])
class Min(_Extreme):
    """The least value that is not NULL."""


@aggregate("Max", [case(ORDERED, frames=FRAMES)])
class Max(_Extreme):
    """The largest value that is not NULL."""

    sign = -1
