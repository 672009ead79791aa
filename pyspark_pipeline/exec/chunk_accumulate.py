"""Coalesce small chunks and split large ones.

Used by operators that emit few rows a chunk (a scan that leaves rows out, a probe, an exchange), since every later
operator has a cost per chunk. A large chunk, by default of at least half of ``batch_rows`` rows, passes uncopied.
"""

from __future__ import annotations

from collections import deque

from pyspark_pipeline.exec.chunk_bytes import ChunkBytes
from pyspark_pipeline.exec.chunk_concat import concat_chunks
from pyspark_pipeline.exec.operator import Chunk

_MOST_BYTES = 32 << 20


class ChunkAccumulator:
    """Regroups rows into chunks of at most ``batch_rows`` rows; keeps their order.

    A chunk of at least ``large_rows`` rows, 0 for half of ``batch_rows``, passes uncopied.
    """

    __slots__ = ("batch_rows", "small_bytes", "_large_rows", "_small", "_small_rows", "_ready", "_bytes")

    def __init__(self, batch_rows: int, large_rows: int = 0) -> None:
        self.batch_rows = batch_rows
        self._large_rows = large_rows or (batch_rows + 1) // 2
        self.small_bytes = 0
        self._bytes = ChunkBytes()
        self._small: list[Chunk] = []
        self._small_rows = 0
        self._ready: deque[Chunk] = deque()

    def add(self, chunk: Chunk) -> None:
        """Add a chunk."""
        rows = chunk.num_rows
        if rows >= self._large_rows or self._small_rows + rows > self.batch_rows:
            self.flush()
        if rows >= self._large_rows:
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


class EarlyAccumulator(ChunkAccumulator):
    """Buffers fewer rows than were taken before, so that a LIMIT gets rows early, and than a large chunk has.

    The buffered rows have at most 32 MiB, so that rows of long strings take no memory and fit in an Arrow array.
    """

    __slots__ = ("_taken_rows", "_held_bytes")

    def __init__(self, batch_rows: int, large_rows: int = 0) -> None:
        super().__init__(batch_rows, large_rows)
        self._taken_rows = self._held_bytes = 0

    def add(self, chunk: Chunk) -> None:
        """Add a chunk."""
        nbytes = chunk.nbytes
        if self._held_bytes + nbytes > _MOST_BYTES:
            self.flush()
        super().add(chunk)
        self._held_bytes = self._held_bytes + nbytes if self._small_rows else 0
        if self._small_rows >= min(self._taken_rows, self._large_rows) or self._held_bytes > _MOST_BYTES:
            self.flush()

    def flush(self) -> None:
        """Make a chunk of the buffered small chunks."""
        super().flush()
        self._held_bytes = 0

    def take(self) -> Chunk:
        """Remove and return the oldest chunk."""
        chunk = super().take()
        self._taken_rows += chunk.num_rows
        return chunk
