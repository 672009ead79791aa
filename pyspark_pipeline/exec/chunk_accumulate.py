"""Coalesce small chunks and split large ones.

Used by operators that emit few rows a chunk (a scan that leaves rows out, a probe, an exchange), since every later
operator has a cost per chunk. A large chunk, by default of at least half of ``batch_rows`` rows, passes uncopied.
"""

from __future__ import annotations

from collections import deque

from pyspark_pipeline.exec.chunk_concat import concat_chunks
from pyspark_pipeline.exec.operator import Chunk

_MOST_BYTES = 32 << 20


class ChunkAccumulator:
    """Regroups rows into chunks of at most ``batch_rows`` rows; keeps their order.

    A chunk of at least ``large_rows`` rows, 0 for half of ``batch_rows``, passes uncopied. Chunks that are coalesced
    have at most 32 MiB together, so that rows of long strings take no memory and fit in an Arrow array.
    """

    __slots__ = ("batch_rows", "held_bytes", "_large_rows", "_small", "_small_rows", "_ready")

    def __init__(self, batch_rows: int, large_rows: int = 0) -> None:
        self.batch_rows = batch_rows
        self._large_rows = large_rows or (batch_rows + 1) // 2
        #: Bytes of the buffered small chunks.
        self.held_bytes = 0
        self._small: list[Chunk] = []
        self._small_rows = 0
        self._ready: deque[Chunk] = deque()

    def add(self, chunk: Chunk) -> None:
        """Add a chunk."""
        rows = chunk.num_rows
        if rows >= self._large_rows:
            self.flush()
            for start in range(0, rows, self.batch_rows):
                whole = rows <= self.batch_rows
                self._ready.append(chunk if whole else chunk.slice(start, self.batch_rows))
            return
        nbytes = chunk.nbytes
        if self._small_rows + rows > self.batch_rows or self.held_bytes + nbytes > _MOST_BYTES:
            self.flush()
        self._small.append(chunk)
        self._small_rows += rows
        self.held_bytes += nbytes
        if self._small_rows >= self._most_rows() or self.held_bytes > _MOST_BYTES:
            self.flush()

    def _most_rows(self) -> int:
        """Return the number of buffered rows that become a chunk at once."""
        return self.batch_rows

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
        self._small, self._small_rows, self.held_bytes = [], 0, 0


class EarlyAccumulator(ChunkAccumulator):
    """Buffers fewer rows than were taken before, so that a LIMIT gets rows early, and than a large chunk has.

    An error waits for the rows before it: they may suffice.
    """

    __slots__ = ("_taken_rows", "_failure")

    def __init__(self, batch_rows: int, large_rows: int = 0) -> None:
        super().__init__(batch_rows, large_rows)
        self._taken_rows = 0
        self._failure: Exception | None = None

    def _most_rows(self) -> int:
        return min(self._taken_rows, self._large_rows)

    def fail(self, error: Exception) -> None:
        """Make ``take`` raise an error once the rows before it are taken; no chunk is added any more."""
        self._failure = error
        self.flush()

    @property
    def has_failed(self) -> bool:
        """Whether an error waits."""
        return self._failure is not None

    def has_chunk(self) -> bool:
        """Return whether ``take`` may be called."""
        return self._failure is not None or bool(self._ready)

    def take(self) -> Chunk:
        """Remove and return the oldest chunk; raise the error if there is none before it."""
        if self._failure is not None and not self._ready:
            raise self._failure
        chunk = super().take()
        self._taken_rows += chunk.num_rows
        return chunk

    def is_empty(self) -> bool:
        """Return whether no row is buffered, and no error."""
        return self._failure is None and super().is_empty()

    def clear(self) -> None:
        """Drop all rows, and the error."""
        super().clear()
        self._failure = None
