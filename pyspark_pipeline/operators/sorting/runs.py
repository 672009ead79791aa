"""Sorted runs: rows in order, read chunk by chunk, and the merge of several runs into one.

A merge holds one chunk of each run, its head. No row after the least of the heads' last rows can sort before it, so the
rows up to it are sorted together and output; a run whose head begins later is left out. The merge is stable: of equal
rows those of the earlier run come first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from pyspark_pipeline.exec.chunk_concat import concat_chunks
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.expressions.row_order import RowOrder
from pyspark_pipeline.kernels.arrays import Int64Array
from pyspark_pipeline.kernels.take import take_rows
from pyspark_pipeline.memory.spill_files import SpillFile

_MAX_BYTES = 64 << 20
#: The position of the end of one head in another is found to within this many rows …
_PROBE = 512
#: … unless all heads together have fewer rows than this.
_FEW_ROWS = 1 << 13


class SortedRun(Protocol):
    """Rows in order."""

    def next_chunk(self) -> Chunk | None:
        """Return the next rows, at least one; None at the end."""

    def close(self) -> None:
        """Release the remaining rows. Repeatable."""


class MemoryRun(ABC):
    """A run in memory that returns chunks of ``batch_rows`` rows; ``nbytes`` are the bytes held."""

    def __init__(self, rows: int, nbytes: int, batch_rows: int) -> None:
        self.nbytes = nbytes
        self._size = rows
        self.batch_rows = min(batch_rows, self.rows_within(_MAX_BYTES))

    def rows_within(self, nbytes: int) -> int:
        """Return the number of rows of average size that fit in ``nbytes``, at least 1."""
        return max(1, nbytes * self._size // max(self.nbytes, 1))

    @abstractmethod
    def next_chunk(self) -> Chunk | None:
        """Return the next rows, at least one; None at the end."""

    @abstractmethod
    def close(self) -> None:
        """Release the remaining rows. Repeatable."""


class OrderedRun(MemoryRun):
    """Chunks whose rows arrived in order."""

    def __init__(self, chunks: Sequence[Chunk], batch_rows: int) -> None:
        rows, nbytes = sum(chunk.num_rows for chunk in chunks), sum(chunk.nbytes for chunk in chunks)
        super().__init__(rows, nbytes, batch_rows)
        self._chunks = deque(chunks)

    def next_chunk(self) -> Chunk | None:
        if not self._chunks:
            self.close()
            return None
        chunk = self._chunks.popleft()
        if chunk.num_rows > self.batch_rows:
            self._chunks.appendleft(chunk.slice(self.batch_rows))
            chunk = chunk.slice(0, self.batch_rows)
        return chunk

    def close(self) -> None:
        self._chunks.clear()
        self.nbytes = 0


class SortedChunk(MemoryRun):
    """A chunk and the order of its rows; rows are gathered on request."""

    def __init__(self, chunk: Chunk, rows: Int64Array, batch_rows: int) -> None:
        super().__init__(rows.size, chunk.nbytes + rows.nbytes, batch_rows)
        self._chunk: Chunk | None = chunk
        self._rows = rows
        self._next = 0

    def next_chunk(self) -> Chunk | None:
        if self._chunk is None or self._next >= self._rows.size:
            self.close()
            return None
        rows = self._rows[self._next : self._next + self.batch_rows]
        self._next += rows.size
        return take_rows(self._chunk, rows)

    def close(self) -> None:
        self._chunk = None
        self.nbytes = 0


class SpilledRun:
    """A run in a spill file of chunks of ``chunk_rows`` rows; ``level`` is the number of merges of its rows."""

    def __init__(self, file: SpillFile, chunk_rows: int, level: int) -> None:
        self.file = file
        self.chunk_rows = chunk_rows
        self.level = level
        self._chunks = file.read()

    def next_chunk(self) -> Chunk | None:
        chunk = next(self._chunks, None)
        if chunk is None:
            self.close()
        return chunk

    def close(self) -> None:
        self._chunks = iter(())
        self.file.close()


def _sampled(chunk: Chunk) -> Chunk:
    """Return every ``_PROBE``-th row but the first."""
    return take_rows(chunk, np.arange(_PROBE, chunk.num_rows, _PROBE))


def _positions(rows: Int64Array) -> Int64Array:
    """Return each row's position in the order ``rows``."""
    positions = np.empty(rows.size, dtype=np.int64)
    positions[rows] = np.arange(rows.size)
    return positions


class RunMerge:
    """Merges several runs into one and closes them. ``nbytes`` are the bytes held besides the runs."""

    def __init__(self, runs: Sequence[SortedRun], order: RowOrder, batch_rows: int) -> None:
        self._runs = list(runs)
        self._heads: list[Chunk | None] = [None] * len(self._runs)
        self._order = order
        self._batch_rows = batch_rows
        self._ready: SortedChunk | None = None

    @property
    def nbytes(self) -> int:
        held: int = sum(head.nbytes for head in self._heads if head is not None)
        return held + (self._ready.nbytes if self._ready is not None else 0)

    def next_chunk(self) -> Chunk | None:
        while True:
            if self._ready is not None:
                chunk = self._ready.next_chunk()
                if chunk is not None:
                    return chunk
                self._ready = None
            heads = self._load_heads()
            if not heads:
                return None
            least, overlapping = self._overlap(heads)
            if len(overlapping) == 1:
                self._heads[least] = None
                return overlapping[least]
            self._merge(least, overlapping)

    def close(self) -> None:
        for run in self._runs:
            run.close()
        self._runs, self._heads, self._ready = [], [], None

    def _load_heads(self) -> list[Chunk]:
        """Fetch missing heads; remove runs that have ended."""
        for place, run in enumerate(self._runs):
            if self._heads[place] is None:
                self._heads[place] = run.next_chunk()
        left = [place for place, head in enumerate(self._heads) if head is not None]
        self._runs = [self._runs[place] for place in left]
        self._heads = [self._heads[place] for place in left]
        return [head for head in self._heads if head is not None]

    def _overlap(self, heads: Sequence[Chunk]) -> tuple[int, dict[int, Chunk]]:
        """Return the run whose head ends first, and the heads that begin before that end, by run."""
        if len(heads) == 1:
            return 0, {0: heads[0]}
        ends = [end for head in heads for end in (head.slice(0, 1), head.slice(head.num_rows - 1, 1))]
        position = _positions(self._order.sorted_rows(concat_chunks(ends)))
        firsts, lasts = position[::2], position[1::2]
        least = int(lasts.argmin())
        return least, {run: heads[run] for run in np.flatnonzero(firsts <= lasts[least]).tolist()}

    def _trimmed(self, least: int, heads: dict[int, Chunk]) -> dict[int, Chunk]:
        """Cut off rows that sort after the end of run ``least``'s head; compare only every ``_PROBE``-th row."""
        if len(heads) < 3 or sum(head.num_rows for head in heads.values()) < _FEW_ROWS:
            return heads
        probes = [head.slice(head.num_rows - 1) if run == least else _sampled(head) for run, head in heads.items()]
        position = _positions(self._order.sorted_rows(concat_chunks(probes)))
        starts = dict(zip(heads, np.cumsum([0, *(probe.num_rows for probe in probes)]).tolist(), strict=False))
        trimmed = dict(heads)
        for (run, head), probe in zip(heads.items(), probes, strict=True):
            if run != least:
                found = position[starts[run] : starts[run] + probe.num_rows]
                before = int((found < position[starts[least]]).sum())
                trimmed[run] = head.slice(0, (before + 1) * _PROBE)
        return trimmed

    def _merge(self, least: int, heads: dict[int, Chunk]) -> None:
        """Sort the heads together; the rows up to the end of run ``least``'s head become output."""
        whole, heads = heads, self._trimmed(least, heads)
        runs = list(heads)
        starts = np.cumsum([0, *(head.num_rows for head in heads.values())])
        together = concat_chunks(list(heads.values()))
        rows = self._order.sorted_rows(together)
        end = int(starts[runs.index(least) + 1]) - 1
        ready = rows[: int(np.flatnonzero(rows == end)[0]) + 1]
        is_ready = np.zeros(rows.size, dtype=np.bool_)
        is_ready[ready] = True
        counts = np.add.reduceat(is_ready, starts[:-1], dtype=np.int64)
        for run, count in zip(runs, counts.tolist(), strict=True):
            head = whole[run]
            self._heads[run] = head.slice(count) if count < head.num_rows else None
        self._ready = SortedChunk(together, ready, self._batch_rows)
