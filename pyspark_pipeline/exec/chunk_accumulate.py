"""Coalesce small chunks and split large ones.

Used after operators that emit few rows a chunk (a selective filter, a probe, a local exchange), since every later
operator has a cost per chunk. A chunk of at least half of ``batch_rows`` rows passes uncopied.
"""

from __future__ import annotations

from collections import deque

from pyspark_pipeline.exec.chunk_bytes import ChunkBytes
from pyspark_pipeline.exec.chunk_concat import concat_chunks
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory


class ChunkAccumulator:
    """Regroups rows into chunks of at most ``batch_rows`` rows; keeps their order."""

    __slots__ = ("batch_rows", "small_bytes", "_small", "_small_rows", "_ready", "_bytes")

    def __init__(self, batch_rows: int) -> None:
        self.batch_rows = batch_rows
        self.small_bytes = 0
        self._bytes = ChunkBytes()
        self._small: list[Chunk] = []
        self._small_rows = 0
        self._ready: deque[Chunk] = deque()

    def add(self, chunk: Chunk) -> None:
        """Add a chunk."""
        rows = chunk.num_rows
        if 2 * rows >= self.batch_rows or self._small_rows + rows > self.batch_rows:
            self.flush()
        if 2 * rows >= self.batch_rows:
            for start in range(0, rows, self.batch_rows):
                whole = rows <= self.batch_rows
                self._ready.append(chunk if whole else chunk.slice(start, self.batch_rows))
            return
        self._small.append(chunk)
        self._small_rows += rows
        self.small_bytes += self._bytes.estimate(chunk)
        if self._small_rows == self.batch_rows:
            self.flush()

    def flush(self) -> None:
        """Make a chunk of the buffered small chunks."""
        if self._small:
            self._ready.append(concat_chunks(self._small))
            self._forget_small()

    def has_chunk(self) -> bool:
        """Return whether ``take`` may be called."""
        return bool(self._ready)

    def take(self) -> Chunk:
        """Remove and return the oldest chunk."""
        return self._ready.popleft()

    def is_empty(self) -> bool:
        """Return whether no row is buffered."""
        return not self._ready and not self._small

    def clear(self) -> None:
        """Drop all rows."""
        self._forget_small()
        self._ready.clear()

    def _forget_small(self) -> None:
        self._small, self._small_rows, self.small_bytes = [], 0, 0


class ChunkAccumulateOperator(Operator):
    """Runs a :class:`ChunkAccumulator` in a pipeline."""

    def __init__(self, batch_rows: int) -> None:
        self._chunks = ChunkAccumulator(batch_rows)
        self._ended = False

    def need_input(self) -> bool:
        return not self._ended and not self._chunks.has_chunk()

    def push_chunk(self, chunk: Chunk) -> None:
        self._chunks.add(chunk)
        self.context.memory.reserve_unchecked(self._chunks.small_bytes)

    def has_output(self) -> bool:
        return self._chunks.has_chunk()

    def pull_chunk(self) -> Chunk | None:
        return self._chunks.take()

    def release(self) -> None:
        self._chunks.flush()

    def set_finishing(self) -> None:
        self._ended = True
        self._chunks.flush()

    def is_finished(self) -> bool:
        return self._ended and self._chunks.is_empty()

    def set_finished(self) -> None:
        self._ended = True
        self._chunks.clear()

    def close(self) -> None:
        self._chunks.clear()
        self.context.memory.reserve(0)


class ChunkAccumulateFactory(OperatorFactory):
    """Creates accumulators of ``batch_rows`` rows."""

    name = "accumulate"

    def __init__(self, batch_rows: int) -> None:
        self._batch_rows = batch_rows

    def create(self, dop: int, driver_sequence: int) -> Operator:
        return ChunkAccumulateOperator(self._batch_rows)
