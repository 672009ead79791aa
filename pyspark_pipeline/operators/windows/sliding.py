"""Sliding frames: the rows from so many before (or after) a row to so many after (or before) it.

As in Spark every frame is computed anew, its rows in order: so doubles are added as Spark adds them, and an overflow on
the way is seen. To that end the rows of each frame are laid out one after the other, as if it were a partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.buffers import Array
from pyspark_pipeline.operators.windows.boundaries import WindowRows, last_true
from pyspark_pipeline.operators.windows.running import Running
from pyspark_pipeline.operators.windows.sources import Edges, Source

#: As many rows of frames are laid out at a time.
_LAID_OUT = 1 << 18


class OverSlidingFrame(Source):
    """The running value that ``make`` makes, over the rows ``first`` to ``last`` after each row (before it: negative).

    Rows that a frame may still need are held, those before the row that leaves next as well.
    """

    def __init__(self, make: Callable[[], Running], first: int, last: int) -> None:
        self._make = make
        self._first = first
        self._last = last
        self._columns: list[list[pa.Array]] = []
        self._starts: list[Array] = []
        self._behind = 0

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for part in (*self._columns, self._starts) for array in part)

    def add(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        self._columns.append(list(columns))
        self._starts.append(rows.starts)
        return []

    def ready(self, edges: Edges) -> int:
        return max(edges.partition, edges.fed - max(self._last, 0))

    def read(self, kept: Sequence[pa.Array], rows: int) -> list[pa.Array]:
        columns = [pa.concat_arrays(parts) for parts in zip(*self._columns, strict=True)]
        starts = np.concatenate(self._starts)
        begin, end = self._frames(starts, rows)
        made = [self._values(columns, begin[piece], end[piece]) for piece in _pieces(end - begin)]
        left = self._behind + rows
        self._behind = min(left, max(0, -self._first))
        past = left - self._behind
        self._columns, self._starts = [[array.slice(past) for array in columns]], [starts[past:]]
        return [pa.concat_arrays(parts) for parts in zip(*made, strict=True)]

    def _frames(self, starts: Array, rows: int) -> tuple[Array, Array]:
        """Give where the frames of the next rows begin and end among the rows held; an empty one ends where it begins.

        Row 0 counts as the first of a partition: what is before it is in no frame.
        """
        at = np.arange(self._behind, self._behind + rows)
        partition = np.maximum(last_true(starts)[at], 0)
        following = np.append(np.flatnonzero(starts), starts.size)
        next_partition = following[np.searchsorted(following, at, side="right")]
        begin = np.maximum(at + self._first, partition)
        end = np.minimum(at + self._last + 1, next_partition)
        begin = np.minimum(begin, starts.size)
        return begin, np.maximum(begin, end)

    def _values(self, columns: list[pa.Array], begin: Array, end: Array) -> list[pa.Array]:
        """Compute the values of frames."""
        running, sizes = self._make(), end - begin
        ends = np.cumsum(sizes)
        full = sizes > 0
        laid = np.arange(ends[-1]) + np.repeat(begin - (ends - sizes), sizes)
        firsts = np.zeros(laid.size, dtype=np.bool_)
        firsts[(ends - sizes)[full]] = True
        rows = pa.array(laid)
        taken = [column.take(rows) for column in columns]
        if not laid.size:  # no running value of nothing: of one row that no frame has
            firsts, taken = np.ones(1, dtype=np.bool_), [column.slice(0, 1) for column in columns]
        found = running.run(WindowRows(firsts, firsts), taken)
        made = [array.take(pa.array(ends - 1, mask=~full)) for array in found]
        return made if running.of_nothing is None else [array.fill_null(running.of_nothing) for array in made]


def _pieces(sizes: Array) -> Iterator[slice]:
    """Cut frames into pieces of about as many rows in all as are laid out at a time."""
    pieces = np.cumsum(sizes) // _LAID_OUT
    cuts = [0, *(np.flatnonzero(pieces[1:] != pieces[:-1]) + 1).tolist(), sizes.size]
    return (slice(first, last) for first, last in zip(cuts, cuts[1:], strict=False))
