"""Frames between two bounds, by rows or by values, as the first and the last row of each.

A frame is a range of the sorted rows. Functions are computed over the ranges of many rows at a time
(:class:`FrameFunction`), whatever the bounds are, from the first row of each frame as in Spark, so that doubles are
added in the same order and intermediate overflows are detected. Frames that begin with the partition continue the state
of the frame before them (:class:`GrowingFunction`), so that no more rows are buffered than their ends require.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array
from pyspark_pipeline.kernels.buffers import last_true
from pyspark_pipeline.kernels.take import take
from pyspark_pipeline.operators.windows.boundaries import WindowRows
from pyspark_pipeline.operators.windows.frame_values import FrameValue, PartitionBounds
from pyspark_pipeline.operators.windows.range_bounds import OpenFrames, RangeBounds
from pyspark_pipeline.plan.windows import Bound

#: Frames that are computed at a time.
_FRAMES = 1 << 18


class FrameFunction(Protocol):
    """A function of the rows of a frame."""

    def over(self, begin: Int64Array, end: Int64Array, columns: Sequence[pa.Array]) -> pa.Array:
        """Return the values over the rows ``begin[i]`` ≤ r < ``end[i]``; both ascend."""


class GrowingFunction(Protocol):
    """The states of a function, one group a frame; group 0 is the state after the rows so far."""

    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None: ...

    def reserve(self, groups: int) -> None: ...

    def take(self, groups: Int64Array) -> None: ...

    def result(self, start: int, stop: int) -> pa.Array: ...


class _Rows:
    """Sorted rows as arrays: the flags of :class:`WindowRows` and the columns."""

    def __init__(self, parts: Sequence[WindowRows], columns: Sequence[Sequence[pa.Array]]) -> None:
        self.flags = WindowRows(
            np.concatenate([part.partition_starts for part in parts]),
            np.concatenate([part.peer_starts for part in parts]),
        )
        self.columns = [pa.concat_arrays(pieces) for pieces in zip(*columns, strict=True)]
        self.size = self.flags.num_rows

    def partitions(self, at: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return the first row and the end (exclusive) of the partitions of rows; row 0 counts as a first row."""
        return _groups(self.flags.partition_starts, at)

    def peers(self, at: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return the first row and the end (exclusive) of the peer groups of rows."""
        return _groups(self.flags.peer_starts, at)


def _groups(starts: BoolArray, at: Int64Array) -> tuple[Int64Array, Int64Array]:
    if not at.size:
        return at, at
    begin = np.maximum(last_true(starts), 0)[at]
    following = np.append(np.flatnonzero(starts), starts.size)
    first = np.searchsorted(following, int(at[0]), side="right")  # rows ascend: count the starts between them
    passed = np.cumsum(starts[int(at[0]) : int(at[-1]) + 1], dtype=np.int64)
    passed -= int(starts[int(at[0])])
    return begin, following[first + passed]


@dataclass(frozen=True, slots=True)
class Frames:
    """The frames between two bounds; ``values`` computes those with offsets from the order value."""

    lower: Bound
    upper: Bound
    values: RangeBounds | None = None

    def complete_rows(self, bounds: PartitionBounds) -> int:
        """Return the number of rows, of all so far, whose frames are complete."""
        if self.upper.kind == "rows":
            ahead: int = max(self.upper.offset, 0)
            return max(bounds.partition, bounds.num_rows - ahead)
        return bounds.peers if self.upper.kind == "peers" else bounds.partition

    def of_rows(self, rows: _Rows, at: Int64Array, before: tuple[int, int]) -> tuple[Int64Array, Int64Array]:
        """Return the begins and ends (exclusive) of the frames of consecutive rows ``at``; equal for empty frames.

        ``before`` is the frame of the row before.
        """
        if self.values is not None:
            return self.values.frames(rows.flags.partition_starts, rows.columns[-1], at, before)
        first, past = rows.partitions(at)
        begin, end = first, past
        if self.lower.kind == "rows":
            begin = np.minimum(np.maximum(at + self.lower.offset, first), past)
        elif self.lower.kind == "peers":
            begin = rows.peers(at)[0]
        if self.upper.kind == "rows":
            end = np.minimum(np.maximum(at + (self.upper.offset + 1), begin), past)
        elif self.upper.kind == "peers":
            end = rows.peers(at)[1]
        return begin, end


class _ValueOverFrames(FrameValue):
    """Values over frames; rows that a later frame may need stay buffered."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._parts: list[WindowRows] = []
        self._columns: list[list[pa.Array]] = []
        self._buffered_bytes = 0
        self._behind = 0  # buffered rows before the next row to compute
        self._before = 0, 0  # the frame of the row before, in buffered rows
        self._done = self._complete = self._total = 0  # rows, of all, computed, of complete frames, and so far
        self._made: list[pa.Array] = []
        self._open = OpenFrames(frames.values) if frames.values and frames.upper.kind == "values" else None

    @property
    def nbytes(self) -> int:
        made: int = sum(array.nbytes for array in self._made)
        return self._buffered_bytes + made + (0 if self._open is None else self._open.nbytes)

    def add(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        self._buffer(rows, list(columns))
        self._total += rows.num_rows
        if self._open is not None:
            self._open.add(rows.partition_starts, columns[-1])
        return []

    def complete_rows(self, bounds: PartitionBounds) -> int:
        complete = self._frames.complete_rows(bounds) if self._open is None else self._open.complete
        # rows of a wide frame are copied and summed again only if as many have been added
        if bounds.partition > self._done or complete - self._done >= self._behind:
            self._complete = complete
        return self._complete

    def finish(self) -> None:
        self._complete = self._total

    def evaluate(self, kept: Sequence[pa.Array], rows: int) -> list[pa.Array]:
        if sum(len(array) for array in self._made) < rows:
            self._compute()
        made = self._made[0] if len(self._made) == 1 else pa.concat_arrays(self._made)
        self._made = [made.slice(rows)] if len(made) > rows else []
        return [made.slice(0, rows)]

    def _compute(self) -> None:
        """Compute the values of all complete rows; drop the rows before the frames of the others."""
        rows = _Rows(self._parts, self._columns)
        at = np.arange(self._behind, self._behind + self._complete - self._done)
        stop = self._behind + at.size
        begin, end = self._frames.of_rows(rows, at, self._before)
        past = min(self._values(rows, at, begin, end), stop)
        self._done, self._behind = self._complete, stop - past
        self._before = max(int(begin[-1]) - past, 0), max(int(end[-1]) - past, 0)
        flags = rows.flags
        self._parts, self._columns, self._buffered_bytes = [], [], 0
        kept = WindowRows(flags.partition_starts[past:], flags.peer_starts[past:])
        self._buffer(kept, [array.slice(past) for array in rows.columns])

    def _buffer(self, rows: WindowRows, columns: list[pa.Array]) -> None:
        self._parts.append(rows)
        self._columns.append(columns)
        flags = rows.partition_starts.nbytes + rows.peer_starts.nbytes
        self._buffered_bytes += flags + sum(array.nbytes for array in columns)

    @abstractmethod
    def _values(self, rows: _Rows, at: Int64Array, begin: Int64Array, end: Int64Array) -> int:
        """Append the values of the frames of rows ``at`` to those made; return the first row that is still needed."""


class ValueOverFrames(_ValueOverFrames):
    """The function over frames that are computed from their first row."""

    def __init__(self, function: FrameFunction, frames: Frames) -> None:
        super().__init__(frames)
        self._function = function

    def _values(self, rows: _Rows, at: Int64Array, begin: Int64Array, end: Int64Array) -> int:
        for first in range(0, at.size, _FRAMES):
            piece = slice(first, first + _FRAMES)
            low, high = int(begin[piece][0]), int(end[piece][-1])
            columns = [column.slice(low, high - low) for column in rows.columns]
            self._made.append(self._function.over(begin[piece] - low, end[piece] - low, columns))
        stop = int(at[-1]) + 1
        is_past = stop < rows.size and rows.flags.partition_starts[stop]
        return stop if is_past else int(begin[-1])


class ValueOverGrowingFrames(_ValueOverFrames):
    """The aggregate over frames that begin with the partition; the states continue from one frame to the next."""

    def __init__(self, states: GrowingFunction, frames: Frames) -> None:
        super().__init__(frames)
        self._states = states

    def _values(self, rows: _Rows, at: Int64Array, begin: Int64Array, end: Int64Array) -> int:
        starts = rows.flags.partition_starts
        numbers = np.cumsum(starts, dtype=np.int64)
        ends = np.zeros(int(numbers[-1]) + 1, dtype=np.int64)
        ends[numbers[at]] = end  # of the last frame of each partition
        added = np.arange(rows.size) < ends[numbers]  # no frame has the last rows of a partition: Spark adds none
        chosen = np.flatnonzero(added)
        columns = rows.columns
        if chosen.size < rows.size:
            columns = [take(column, chosen) for column in columns]
        groups = np.append(0, np.cumsum(added, dtype=np.int64))  # of the state before each row, and after all
        found = groups[end]
        found[(begin == end) & starts[begin]] = chosen.size + 1  # an empty group
        stop = int(at[-1]) + 1
        past = stop if stop < rows.size and starts[stop] else min(int(end[-1]), stop)
        self._states.reserve(max(chosen.size, at.size) + 2)
        if chosen.size:
            self._states.scan(starts[chosen], columns)
        self._states.take(np.append(found, groups[past]))
        self._made.append(self._states.result(0, at.size))
        self._states.take(np.array([at.size]))
        return past
