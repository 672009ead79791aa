"""Sorted runs: rows in order, given chunk by chunk, and the merge of several into one.

A merge holds one chunk of each run, its head. No row after the least of the heads' last rows can come before
it, so the rows up to there are sorted together and given; a run whose head begins later takes no part. Runs are
told apart only by their place: of equal rows those of the earlier run come first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from pyspark_pipeline.exec.chunk_concat import concat_chunks
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.expressions.row_order import RowOrder
from pyspark_pipeline.kernels.buffers import Array
from pyspark_pipeline.memory.spill_files import SpillFile

_MOST_BYTES = 64 << 20


class SortedRun(Protocol):
    """Rows in order."""

    def next_chunk(self) -> Chunk | None:
        """Give the next rows, at least one; None at the end."""

    def close(self) -> None:
        """Drop what is left. Repeatable."""


def take_rows(chunk: Chunk, rows: Array) -> Chunk:
    """Give the rows of a chunk by number."""
    return chunk.take(pa.array(rows)) if chunk.num_columns else chunk.slice(0, rows.size)


class MemoryRun:
    """A chunk and the order of its rows; rows are fetched when they are asked for. ``nbytes`` is what it holds."""

    def __init__(self, chunk: Chunk, rows: Array, batch_rows: int) -> None:
        self._chunk: Chunk | None = chunk
        self._rows = rows
        self._next = 0
        self.nbytes: int = chunk.nbytes + rows.nbytes
        self.batch_rows = min(batch_rows, self.rows_within(_MOST_BYTES))

    def rows_within(self, nbytes: int) -> int:
        """Give how many rows of the average size are at most ``nbytes`` large, at least 1."""
        return max(1, nbytes * self._rows.size // max(self.nbytes, 1))

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
    """A run in a spill file of chunks of ``chunk_rows`` rows; ``level`` says how often its rows were merged before."""

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


class RunMerge:
    """One run of several. Also closes them. ``nbytes`` is what it holds besides its runs."""

    def __init__(self, runs: Sequence[SortedRun], order: RowOrder, batch_rows: int) -> None:
        self._runs = list(runs)
        self._heads: list[Chunk | None] = [None] * len(self._runs)
        self._order = order
        self._batch_rows = batch_rows
        self._ready: MemoryRun | None = None

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
        """Fetch the heads that are missing; forget runs that have ended."""
        for place, run in enumerate(self._runs):
            if self._heads[place] is None:
                self._heads[place] = run.next_chunk()
        left = [place for place, head in enumerate(self._heads) if head is not None]
        self._runs = [self._runs[place] for place in left]
        self._heads = [self._heads[place] for place in left]
        return [head for head in self._heads if head is not None]

    def _overlap(self, heads: Sequence[Chunk]) -> tuple[int, dict[int, Chunk]]:
        """Give the run whose head ends first, and the heads that begin before that end, by run."""
        if len(heads) == 1:
            return 0, {0: heads[0]}
        ends = [end for head in heads for end in (head.slice(0, 1), head.slice(head.num_rows - 1, 1))]
        rows = self._order.sorted_rows(concat_chunks(ends))
        position = np.empty(rows.size, dtype=np.int64)
        position[rows] = np.arange(rows.size)
        firsts, lasts = position[::2], position[1::2]
        least = int(lasts.argmin())
        return least, {run: heads[run] for run in np.flatnonzero(firsts <= lasts[least]).tolist()}

    def _merge(self, least: int, heads: dict[int, Chunk]) -> None:
        """Sort the heads together and make the rows up to the end of run ``least``'s head ready."""
        runs = list(heads)
        starts = np.cumsum([0, *(head.num_rows for head in heads.values())])
        together = concat_chunks(list(heads.values()))
        rows = self._order.sorted_rows(together)
        end = int(starts[runs.index(least) + 1]) - 1
        ready = rows[: int(np.flatnonzero(rows == end)[0]) + 1]
        counts = np.bincount(np.searchsorted(starts, ready, side="right") - 1, minlength=len(runs))
        for run, count in zip(runs, counts.tolist(), strict=True):
            head = heads[run]
            self._heads[run] = head.slice(count) if count < head.num_rows else None
        self._ready = MemoryRun(together, ready, self._batch_rows)
