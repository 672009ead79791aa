"""Batches of the size that Spark sends to a Python function, cut from chunks of any size."""

from __future__ import annotations

from pyspark_pipeline.exec.chunk_concat import concat_chunks
from pyspark_pipeline.exec.operator import Chunk


class RowBatches:
    """Chunks in order, from which batches of ``max_rows`` rows are taken; the last one may have fewer."""

    def __init__(self, max_rows: int) -> None:
        self.num_rows = 0
        self._max_rows = max_rows
        self._chunks: list[Chunk] = []

    def add(self, chunk: Chunk) -> None:
        """Append the rows of a chunk."""
        self._chunks.append(chunk)
        self.num_rows += chunk.num_rows

    def has_batch(self) -> bool:
        """Return whether there are enough rows for a whole batch."""
        return self.num_rows >= self._max_rows

    def take(self) -> Chunk:
        """Remove and return the first rows, at most ``max_rows``; there must be some."""
        rows = concat_chunks(self._chunks)
        rest = rows.slice(self._max_rows)
        self._chunks = [rest] if rest.num_rows else []
        self.num_rows = rest.num_rows
        return rows.slice(0, self._max_rows)

    def clear(self) -> None:
        """Drop all rows."""
        self._chunks = []
        self.num_rows = 0
