"""Frame values: the values that a window function reads per row, e.g. a running value at the row or at its last peer.

A frame value gets all rows in order (``add``) and may return columns to buffer with them. ``complete_rows`` counts
the rows whose value is known; when those leave, ``evaluate`` gets the buffered columns back and returns the values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array
from pyspark_pipeline.kernels.buffers import values
from pyspark_pipeline.kernels.take import take
from pyspark_pipeline.operators.windows.boundaries import WindowRows, one_row
from pyspark_pipeline.operators.windows.running import RunningValue, or_default


@dataclass(slots=True)
class PartitionBounds:
    """The number of rows so far, and the row numbers (from 0) where the current partition and peer group began."""

    num_rows: int = 0
    partition: int = 0
    peers: int = 0

    def add(self, rows: WindowRows) -> None:
        """Advance over the next rows."""
        for name, flags in (("partition", rows.partition_starts), ("peers", rows.peer_starts)):
            begun = np.flatnonzero(flags)
            if begun.size:
                setattr(self, name, self.num_rows + int(begun[-1]))
        self.num_rows += rows.num_rows


class FrameValue(ABC):
    """One input of one window function in one driver."""

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return 0

    @abstractmethod
    def add(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        """Add the next rows and their argument columns; return columns to buffer with the rows."""

    @abstractmethod
    def evaluate(self, kept: Sequence[pa.Array], rows: int) -> list[pa.Array]:
        """Return the columns of the value for the next ``rows`` rows; ``kept``: their columns returned by ``add``."""

    def finish(self) -> None:  # noqa: B027 (optional)
        """Handle the end of the input."""

    def complete_rows(self, bounds: PartitionBounds) -> int:
        """Return the number of rows, of all so far, whose value is known."""
        return bounds.num_rows


class ValueAtRow(FrameValue):
    """The value at the row itself."""

    def __init__(self, running: RunningValue) -> None:
        self._running = running

    @property
    def nbytes(self) -> int:
        return self._running.nbytes

    def add(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        return self._running.run(rows, columns)

    def evaluate(self, kept: Sequence[pa.Array], rows: int) -> list[pa.Array]:
        return list(kept)


class GroupValues(ABC):
    """The values at the ends of groups of rows; the last group is open, since it may continue in the next chunk."""

    @property
    def nbytes(self) -> int:
        """Bytes of a state that grows with the rows of the open group."""
        return 0

    @abstractmethod
    def ended(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[list[pa.Array]]:
        """Advance over the next rows; return the columns of the values of the groups that ended, in pieces."""

    @abstractmethod
    def last(self) -> list[list[pa.Array]]:
        """Return the same of the open group."""


class RunningAtEnds(GroupValues):
    """A running value at the last row of each group; ``starts`` returns the flags of the first rows of groups."""

    def __init__(self, running: RunningValue, starts: Callable[[WindowRows], BoolArray]) -> None:
        self._running = running
        self._starts = starts
        self._last: list[list[pa.Array]] = []

    def ended(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[list[pa.Array]]:
        made, starts = self._running.run(rows, columns), self._starts(rows)
        found = self._last if starts[0] else []
        ends = np.flatnonzero(starts[1:])
        if ends.size:
            found = [*found, [take(array, ends) for array in made]]
        self._last = [[one_row(array, rows.num_rows - 1) for array in made]]
        return found

    def last(self) -> list[list[pa.Array]]:
        return self._last


class ValueAtGroupEnd(FrameValue):
    """The value at the last row of a group: stored once per group; each row is buffered with its group's number."""

    def __init__(self, at_ends: GroupValues) -> None:
        self._at_ends = at_ends
        self._ended: list[list[pa.Array]] = []
        self._ended_bytes = 0
        self._first = 0
        self._groups = 0

    @property
    def nbytes(self) -> int:
        return self._at_ends.nbytes + self._ended_bytes

    @staticmethod
    @abstractmethod
    def starts(rows: WindowRows) -> BoolArray:
        """Return flags of the first rows of groups."""

    def add(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        self._append(self._at_ends.ended(rows, columns))
        numbers = np.cumsum(self.starts(rows), dtype=np.int64) + (self._groups - 1)
        self._groups = int(numbers[-1]) + 1
        return [pa.array(numbers)]

    def finish(self) -> None:
        self._append(self._at_ends.last())

    def _append(self, ended: list[list[pa.Array]]) -> None:
        self._ended += ended
        self._ended_bytes += sum(array.nbytes for part in ended for array in part)

    def evaluate(self, kept: Sequence[pa.Array], rows: int) -> list[pa.Array]:
        numbers = values(kept[0])
        ended = [pa.concat_arrays(parts) for parts in zip(*self._ended, strict=True)]
        made = [take(array, numbers - self._first) for array in ended]
        past = int(numbers[-1]) - self._first
        self._ended, self._ended_bytes = [], 0
        self._append([[array.slice(past) for array in ended]])
        self._first += past
        return made


class ValueAtLastPeer(ValueAtGroupEnd):
    """The value at the last peer: the last row with equal order keys."""

    @staticmethod
    def starts(rows: WindowRows) -> BoolArray:
        return rows.peer_starts

    def complete_rows(self, bounds: PartitionBounds) -> int:
        return bounds.peers


class ValueAtPartitionEnd(ValueAtGroupEnd):
    """The value at the last row of the partition."""

    @staticmethod
    def starts(rows: WindowRows) -> BoolArray:
        return rows.partition_starts

    def complete_rows(self, bounds: PartitionBounds) -> int:
        return bounds.partition


class ValueAtLaterRow(FrameValue):
    """An argument's value ``ahead`` (from 1) rows later in the partition.

    If there is none, it is ``default``, or the row's value of the second argument if ``default`` is None.
    """

    def __init__(self, ahead: int, default: pa.Scalar | None) -> None:
        self._ahead = ahead
        self._default = default
        self._column: list[pa.Array] = []
        self._partitions: list[Int64Array] = []
        self._begun = 0

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (*self._column, *self._partitions))

    def add(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        numbers = np.cumsum(rows.partition_starts, dtype=np.int64) + self._begun
        self._begun = int(numbers[-1])
        self._column.append(columns[0])
        self._partitions.append(numbers)
        return list(columns[1:])

    def evaluate(self, kept: Sequence[pa.Array], rows: int) -> list[pa.Array]:
        column, partitions = pa.concat_arrays(self._column), np.concatenate(self._partitions)
        self._column, self._partitions = [column.slice(rows)], [partitions[rows:]]
        at = np.arange(rows) + self._ahead
        inside = at < partitions.size
        inside &= partitions[np.minimum(at, partitions.size - 1)] == partitions[:rows]
        default = kept[0] if self._default is None else self._default
        return [or_default(take(column, np.where(inside, at, -1), with_missing=True), inside, default)]

    def complete_rows(self, bounds: PartitionBounds) -> int:
        return max(bounds.partition, bounds.num_rows - self._ahead)
