"""Running values: ranks and offset values over the partition after each row, that row included.

A value is one or more Arrow columns. The value after the last row of a chunk is kept, since a partition may continue in
the next chunk.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array
from pyspark_pipeline.kernels.buffers import fixed_array, last_true, values
from pyspark_pipeline.kernels.take import take
from pyspark_pipeline.operators.windows.boundaries import WindowRows, one_row


class RunningValue(ABC):
    """One running value in one driver. ``columns`` are the columns of the arguments."""

    def __init__(self) -> None:
        self._before: list[pa.Array] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes in memory, if they grow with the rows, else 0."""
        return 0

    def run(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        """Return the value after each of the next rows; there is at least one row."""
        made = self.after(rows, columns)
        self._before = [one_row(array, rows.num_rows - 1) for array in made]
        return made

    @abstractmethod
    def after(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        """Compute the value after each row, starting from :meth:`before`."""

    def before(self, column: int = 0) -> int:
        """Return a number of the value after the previous chunk's last row; 0 if there is none or it is NULL."""
        found = None if self._before is None else self._before[column][0].as_py()
        return found or 0


def _longs(data: Int64Array) -> pa.Array:
    return fixed_array(pa.int64(), data.astype(np.int64, copy=False))


class _Counting(RunningValue):
    """Counts of flagged rows of the partition."""

    def counts(self, rows: WindowRows, flags: Int64Array, column: int = 0) -> Int64Array:
        """Return the count up to each row."""
        total = np.cumsum(flags, dtype=np.int64)
        start = last_true(rows.partition_starts)
        begun = np.maximum(start, 0)
        counts: Int64Array = total - np.where(start >= 0, total[begun] - flags[begun], -self.before(column))
        return counts


class RowNumbers(_Counting):
    """The row numbers within the partition, from 1."""

    def after(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        return [_longs(self.counts(rows, np.ones(rows.num_rows, dtype=np.int64)))]


class Ranks(_Counting):
    """The row number of the first peer, and the row's own."""

    def after(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        numbers = self.counts(rows, np.ones(rows.num_rows, dtype=np.int64), 1)
        first = last_true(rows.peer_starts)
        ranks = np.where(first >= 0, numbers[np.maximum(first, 0)], self.before(0))
        return [_longs(ranks), _longs(numbers)]


class DenseRanks(_Counting):
    """The number of peer groups of the partition so far."""

    def after(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        return [_longs(self.counts(rows, rows.peer_starts.astype(np.int64)))]


class OwnValues(RunningValue):
    """The row's own values."""

    def run(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        return self.after(rows, columns)

    def after(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        return list(columns)


class _Lagged(RunningValue):
    """An earlier value of the first column; those that later rows may need are kept."""

    def __init__(self, back: int) -> None:
        super().__init__()
        self._back = back
        self._tail: pa.Array | None = None

    @property
    def nbytes(self) -> int:
        return 0 if self._tail is None else int(self._tail.nbytes)

    def run(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        return self.after(rows, columns)

    def _joined(self, column: pa.Array) -> tuple[int, pa.Array]:
        """Return the number of kept values, and those values with the next ones after them."""
        if self._tail is None:
            return 0, column
        return len(self._tail), pa.concat_arrays([self._tail, column])


class LaggedValidValues(_Lagged):
    """The ``back``-th value (from 1) before the row in the partition that is not NULL; NULL if there is none."""

    def after(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        kept, together = self._joined(columns[0])
        valid = np.asarray(together.is_valid())
        chosen = np.flatnonzero(valid)
        before = (np.cumsum(valid, dtype=np.int64) - valid)[kept:]
        start = last_true(rows.partition_starts)
        first = np.where(start >= 0, before[np.maximum(start, 0)], 0)
        at = before - self._back
        inside = at >= first
        found = np.append(chosen, -1)[np.where(inside, at, -1)]
        self._tail = take(together, chosen[max(int(first[-1]), chosen.size - self._back) :])
        return [take(together, found, with_missing=True)]


class LaggedValues(_Lagged):
    """The value of the row ``back`` (from 0) rows earlier in the partition.

    If there is none, it is ``default``, or the row's value of the second column if ``default`` is None.
    """

    def __init__(self, back: int, default: pa.Scalar | None) -> None:
        super().__init__(back)
        self._default = default
        self._numbers = RowNumbers()

    def after(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        kept, together = self._joined(columns[0])
        self._tail = take(together, np.arange(max(0, len(together) - self._back), len(together)))
        inside = values(self._numbers.run(rows, ())[0]) > self._back
        at = np.arange(rows.num_rows) + (kept - self._back)
        default = columns[1] if self._default is None else self._default
        return [or_default(take(together, np.where(inside, at, -1), with_missing=True), inside, default)]


def or_default(array: pa.Array, inside: BoolArray, default: pa.Scalar | pa.Array) -> pa.Array:
    """Return ``array``, which is NULL in rows that are not ``inside``, with ``default`` in those rows."""
    if pa.types.is_null(array.type) or (isinstance(default, pa.Scalar) and not default.is_valid):
        return array
    return pc.if_else(pa.array(inside), array, default)
