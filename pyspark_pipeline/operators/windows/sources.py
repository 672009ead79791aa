"""What a window function reads: a running value at the row itself, at its last peer, at the partition's last row.

A source sees all rows in order (``add``) and may give columns that go with them; when rows leave, it gets these
columns back and gives the values for those rows (``read``). How far rows may leave it says by ``ready``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.buffers import Array, values
from pyspark_pipeline.operators.windows.boundaries import WindowRows, one_row
from pyspark_pipeline.operators.windows.running import Running, or_default


@dataclass(slots=True)
class Edges:
    """Rows so far, and the numbers (from 0) of those with which the current partition and its last peers began."""

    fed: int = 0
    partition: int = 0
    peers: int = 0

    def add(self, rows: WindowRows) -> None:
        """Take the next rows."""
        for name, flags in (("partition", rows.starts), ("peers", rows.peers)):
            begun = np.flatnonzero(flags)
            if begun.size:
                setattr(self, name, self.fed + int(begun[-1]))
        self.fed += rows.num_rows


class Source(ABC):
    """One reading of one function in one driver."""

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return 0

    @abstractmethod
    def add(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        """Take the next rows and the columns of the arguments; give columns to keep with the rows."""

    @abstractmethod
    def read(self, kept: Sequence[pa.Array], rows: int) -> list[pa.Array]:
        """Give the columns of the value for the next rows that leave, ``rows`` of them."""

    def finish(self) -> None:  # noqa: B027 (optional)
        """Learn that no more rows come."""

    def ready(self, edges: Edges) -> int:
        """Say how many rows of all so far may leave."""
        return edges.fed


class AtRow(Source):
    """The value at the row itself."""

    def __init__(self, running: Running) -> None:
        self._running = running

    @property
    def nbytes(self) -> int:
        return self._running.nbytes

    def add(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        return self._running.run(rows, columns)

    def read(self, kept: Sequence[pa.Array], rows: int) -> list[pa.Array]:
        return list(kept)


class AtGroupEnd(Source):
    """The value at the last row of a group: it is kept once a group, and each row has the number of its group."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._last: list[pa.Array] | None = None
        self._ended: list[list[pa.Array]] = []
        self._first = 0
        self._groups = 0

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for part in self._ended for array in part)

    @abstractmethod
    def starts(self, rows: WindowRows) -> Array:
        """Say where groups begin."""

    def add(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        made = self._running.run(rows, columns)
        starts = self.starts(rows)
        if starts[0] and self._last is not None:
            self._ended.append(self._last)
        ends = np.flatnonzero(starts[1:])
        if ends.size:
            self._ended.append([array.take(pa.array(ends)) for array in made])
        self._last = [one_row(array, rows.num_rows - 1) for array in made]
        numbers = np.cumsum(starts, dtype=np.int64) + (self._groups - 1)
        self._groups = int(numbers[-1]) + 1
        return [pa.array(numbers)]

    def finish(self) -> None:
        if self._last is not None:
            self._ended.append(self._last)

    def read(self, kept: Sequence[pa.Array], rows: int) -> list[pa.Array]:
        numbers = values(kept[0])
        ended = [pa.concat_arrays(parts) for parts in zip(*self._ended, strict=True)]
        made = [array.take(pa.array(numbers - self._first)) for array in ended]
        past = int(numbers[-1]) - self._first
        self._ended = [[array.slice(past) for array in ended]]
        self._first += past
        return made


class AtLastPeer(AtGroupEnd):
    """The value at the last row of equal keys of the order."""

    def starts(self, rows: WindowRows) -> Array:
        return rows.peers

    def ready(self, edges: Edges) -> int:
        return edges.peers


class AtPartitionEnd(AtGroupEnd):
    """The value at the last row of the partition."""

    def starts(self, rows: WindowRows) -> Array:
        return rows.starts

    def ready(self, edges: Edges) -> int:
        return edges.partition


class AtLaterRow(Source):
    """An argument's value ``ahead`` (from 1) rows later in the partition; ``default`` where there is none."""

    def __init__(self, ahead: int, default: pa.Scalar) -> None:
        self._ahead = ahead
        self._default = default
        self._column: list[pa.Array] = []
        self._partitions: list[Array] = []
        self._begun = 0

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (*self._column, *self._partitions))

    def add(self, rows: WindowRows, columns: Sequence[pa.Array]) -> list[pa.Array]:
        numbers = np.cumsum(rows.starts, dtype=np.int64) + self._begun
        self._begun = int(numbers[-1])
        self._column.append(columns[0])
        self._partitions.append(numbers)
        return []

    def read(self, kept: Sequence[pa.Array], rows: int) -> list[pa.Array]:
        column, partitions = pa.concat_arrays(self._column), np.concatenate(self._partitions)
        self._column, self._partitions = [column.slice(rows)], [partitions[rows:]]
        at = np.arange(rows) + self._ahead
        inside = at < partitions.size
        inside &= partitions[np.minimum(at, partitions.size - 1)] == partitions[:rows]
        return [or_default(column.take(pa.array(at, mask=~inside)), inside, self._default)]

    def ready(self, edges: Edges) -> int:
        return max(edges.partition, edges.fed - self._ahead)
