"""Sliding frames: the rows between two fixed row offsets from the current row.

As in Spark, every frame is computed from scratch, its rows in order, so that doubles are added in the same order and
intermediate overflows are detected. The rows of each frame are copied one frame after the other, each as a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.buffers import Array
from pyspark_pipeline.operators.windows.boundaries import WindowRows, last_true
from pyspark_pipeline.operators.windows.sources import FrameValue, PartitionBounds

#: Rows of frames that are copied at a time.
_BATCH_ROWS = 1 << 18


class FrameStates(Protocol):
    """The states of an aggregate function, one group a frame."""

    def reserve(self, groups: int) -> None: ...

    def clear(self) -> None: ...

    def update(self, groups: Array, columns: Sequence[pa.Array]) -> None: ...

    def result(self, start: int, stop: int) -> pa.Array: ...


class ValueOverSlidingFrame(FrameValue):
    """The aggregate over the rows ``first`` to ``last`` after each row (negative: before it).

    Rows that a later frame may need stay buffered, including rows before the next row to leave.
    """

    def __init__(self, states: FrameStates, first: int, last: int) -> None:
        self._states = states
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
        self._starts.append(rows.partition_starts)
        return []

    def complete_rows(self, bounds: PartitionBounds) -> int:
        return max(bounds.partition, bounds.num_rows - max(self._last, 0))

    def evaluate(self, kept: Sequence[pa.Array], rows: int) -> list[pa.Array]:
        columns = [pa.concat_arrays(parts) for parts in zip(*self._columns, strict=True)]
        starts = np.concatenate(self._starts)
        begin, end = self._frames(starts, rows)
        made = [self._values(columns, begin[piece], end[piece]) for piece in _pieces(end - begin)]
        left = self._behind + rows
        self._behind = min(left, max(0, -self._first))
        past = left - self._behind
        self._columns, self._starts = [[array.slice(past) for array in columns]], [starts[past:]]
        return [pa.concat_arrays(made)]

    def _frames(self, starts: Array, rows: int) -> tuple[Array, Array]:
        """Return the begins and ends (exclusive) of the next rows' frames in the buffered rows; equal for empty frames.

        Row 0 counts as the first of a partition: no frame contains earlier rows.
        """
        at = np.arange(self._behind, self._behind + rows)
        partition = np.maximum(last_true(starts)[at], 0)
        following = np.append(np.flatnonzero(starts), starts.size)
        next_partition = following[np.searchsorted(following, at, side="right")]
        begin = np.maximum(at + self._first, partition)
        end = np.minimum(at + self._last + 1, next_partition)
        begin = np.minimum(begin, starts.size)
        return begin, np.maximum(begin, end)

    def _values(self, columns: list[pa.Array], begin: Array, end: Array) -> pa.Array:
        """Compute the values of the frames."""
        sizes = end - begin
        ends = np.cumsum(sizes)
        numbers = np.arange(ends[-1]) + np.repeat(begin - (ends - sizes), sizes)
        self._states.clear()
        self._states.reserve(sizes.size)
        if numbers.size:
            rows = pa.array(numbers)
            self._states.update(np.repeat(np.arange(sizes.size), sizes), [column.take(rows) for column in columns])
        return self._states.result(0, sizes.size)


def _pieces(sizes: Array) -> Iterator[slice]:
    """Yield slices of consecutive frames with about ``_BATCH_ROWS`` rows in all."""
    pieces = np.cumsum(sizes) // _BATCH_ROWS
    cuts = [0, *(np.flatnonzero(pieces[1:] != pieces[:-1]) + 1).tolist(), sizes.size]
    return (slice(first, last) for first, last in zip(cuts, cuts[1:], strict=False))
