"""Running values: what a window function knows of its partition after each row, up to and with that row.

A value is one or more Arrow columns, so that the rows where a frame ends can be taken from them. The value after
the last row of a chunk is kept: a partition may go on in the next chunk.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.kernels.buffers import Array, decimal_words, fixed_array, validity, values
from pyspark_pipeline.kernels.running import run_decimals, run_doubles, run_least, run_longs
from pyspark_pipeline.kernels.sort_fields import SortColumn, ordinals
from pyspark_pipeline.kernels.sort_order import rank_rows
from pyspark_pipeline.operators.aggregates.sum_states import overflow
from pyspark_pipeline.operators.windows.boundaries import WindowRows, last_true, one_row


class Running(ABC):
    """One running value of one driver. ``columns`` are those of the arguments.

    ``of_nothing``: the value of no rows, None where that is NULL.
    """

    of_nothing: int | None = None

    def __init__(self) -> None:
        self._before: list[pa.Array] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes held, where they grow with the rows."""
        return 0

    def run(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        """Give the value after each of the next rows, at least one."""
        made = self.after(rows, columns)
        self._before = [one_row(array, rows.num_rows - 1) for array in made]
        return made

    @abstractmethod
    def after(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        """Compute the value after each row; what the row before the first left is :meth:`before`."""

    def before(self, column: int = 0) -> int:
        """Give a number that the row before the first left; 0 where there is none or it is NULL."""
        found = None if self._before is None else self._before[column][0].as_py()
        return found or 0


def _longs(data: Array, valid: Array | None = None) -> pa.Array:
    return fixed_array(pa.int64(), data.astype(np.int64, copy=False), valid)


class _Counting(Running):
    """Counts flagged rows of the partition."""

    of_nothing = 0

    def counts(self, rows: WindowRows, flags: Array, column: int = 0) -> Array:
        """Count up to each row; int64."""
        total = np.cumsum(flags, dtype=np.int64)
        start = last_true(rows.starts)
        begun = np.maximum(start, 0)
        counts: Array = total - np.where(start >= 0, total[begun] - flags[begun], -self.before(column))
        return counts


class RowNumbers(_Counting):
    """Rows of the partition so far; from 1."""

    def after(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        return [_longs(self.counts(rows, np.ones(rows.num_rows, dtype=np.int64)))]


class Ranks(_Counting):
    """The number of the first peer, and the row's own."""

    def after(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        numbers = self.counts(rows, np.ones(rows.num_rows, dtype=np.int64), 1)
        first = last_true(rows.peers)
        ranks = np.where(first >= 0, numbers[np.maximum(first, 0)], self.before(0))
        return [_longs(ranks), _longs(numbers)]


class DenseRanks(_Counting):
    """Groups of peers of the partition so far."""

    def after(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        return [_longs(self.counts(rows, rows.peers.astype(np.int64)))]


class Counts(_Counting):
    """Rows so far whose arguments are all valid; without arguments all rows."""

    def after(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        valid = np.ones(rows.num_rows, dtype=np.bool_)
        for column in columns:
            if column.null_count:
                valid &= np.asarray(column.is_valid())
        return [_longs(self.counts(rows, valid.astype(np.int64)))]


class LongSums(Running):
    """Sums of integers, NULL before the first value. In ANSI mode an overflow raises, else it wraps."""

    def __init__(self, ansi: bool, context: int) -> None:
        super().__init__()
        self._ansi = ansi
        self._context = context

    def after(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        data = values(columns[0]).astype(np.int64, copy=False)
        sums, seen = np.empty(rows.num_rows, dtype=np.int64), np.empty(rows.num_rows, dtype=np.bool_)
        has = self._before is not None and self._before[0].null_count == 0
        if run_longs(rows.starts, data, *validity(columns[0]), self.before(), has, sums, seen) and self._ansi:
            raise overflow("long overflow", "try_add", self._context)
        return [_longs(sums, seen)]


class DoubleSums(Running):
    """Sums of numbers as doubles, added in the order of the rows; NULL before the first value."""

    def after(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        data = values(columns[0]).astype(np.float64, copy=False)
        sums, seen = np.empty(rows.num_rows, dtype=np.float64), np.empty(rows.num_rows, dtype=np.bool_)
        has = self._before is not None and self._before[0].null_count == 0
        first = float(self.before())
        run_doubles(rows.starts, data, *validity(columns[0]), first, has, sums, seen)
        return [fixed_array(pa.float64(), sums, seen)]


class DecimalSums(Running):
    """Exact sums of decimals as three words, low to high; Spark looks at their digits only where a frame ends."""

    of_nothing = 0

    def after(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        first = np.array([self.before(word) for word in range(3)], dtype=np.int64)
        sums = np.empty((rows.num_rows, 3), dtype=np.int64)
        run_decimals(rows.starts, decimal_words(columns[0]), *validity(columns[0]), first, sums)
        return [_longs(np.ascontiguousarray(sums[:, word])) for word in range(3)]


class Extremes(Running):
    """The least (``descending``: the largest) value that is not NULL; of equal ones the first."""

    def __init__(self, *, descending: bool) -> None:
        super().__init__()
        self._descending = descending

    def after(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        column = columns[0]
        before = pa.nulls(1, column.type) if self._before is None else self._before[0]
        together = pa.concat_arrays([before, column])
        best = np.empty(rows.num_rows, dtype=np.int64)
        run_least(rows.starts, self._ranks(together), *validity(together), best)
        return [together.take(pa.array(best, mask=best < 0))]

    def _ranks(self, column: pa.Array) -> Array:
        """Give int64 numbers that order as the values do; anything for NULL."""
        kind = column.type
        if pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_decimal(kind):
            return rank_rows([SortColumn(column, self._descending, True)], len(column))
        ranks = ordinals(column).astype(np.int64, copy=False)
        return ~ranks if self._descending else ranks


class Firsts(Running):
    """The value of the partition's first row."""

    def after(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        column = columns[0]
        before = pa.nulls(1, column.type) if self._before is None else self._before[0]
        return [pa.concat_arrays([before, column]).take(pa.array(last_true(rows.starts) + 1))]


class Lasts(Running):
    """The value of the row itself."""

    def after(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        return [columns[0]]


class Earlier(Running):
    """The value of the row ``back`` (from 0) rows before in the partition; ``default`` where there is none."""

    def __init__(self, back: int, default: pa.Scalar) -> None:
        super().__init__()
        self._back = back
        self._default = default
        self._numbers = RowNumbers()
        self._tail: pa.Array | None = None

    @property
    def nbytes(self) -> int:
        return 0 if self._tail is None else int(self._tail.nbytes)

    def run(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        return self.after(rows, columns)

    def after(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        tail = columns[0].slice(0, 0) if self._tail is None else self._tail
        together = pa.concat_arrays([tail, columns[0]])
        kept = np.arange(max(0, len(together) - self._back), len(together))
        self._tail = together.take(pa.array(kept))
        inside = values(self._numbers.run(rows, ())[0]) > self._back
        at = np.arange(rows.num_rows) + (len(tail) - self._back)
        return [or_default(together.take(pa.array(at, mask=~inside)), inside, self._default)]


def or_default(array: pa.Array, inside: Array, default: pa.Scalar) -> pa.Array:
    """Give ``array`` with ``default`` where not ``inside``; there it is NULL."""
    return pc.if_else(pa.array(inside), array, default) if default.is_valid else array
