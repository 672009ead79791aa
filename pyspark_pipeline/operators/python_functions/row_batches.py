"""Batches of the size that Spark sends to a Python function, cut from chunks of any size."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from pyspark_pipeline.exec.chunk_concat import concat_chunks
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.operators.python_functions.batch_limits import whole_batches
from pyspark_pipeline.plan.python_functions import BatchLimits


class RowBatches:
    """Chunks in order, which are cut into batches within ``limits``; ``arguments`` returns those of some rows.

    A batch ends at a number of rows, or of bytes of their arguments. These are computed once there are as many rows, or
    chunks of as many bytes.
    """

    def __init__(self, limits: BatchLimits, arguments: Callable[[Chunk], pa.RecordBatch]) -> None:
        self.num_rows = 0
        self._limits = limits
        self._arguments = arguments
        self._chunks: list[Chunk] = []
        self._bytes = 0
        self._looked_at = 0  # bytes of the chunks that do not fill a batch

    def add(self, chunk: Chunk) -> None:
        """Append the rows of a chunk."""
        self._chunks.append(chunk)
        self.num_rows += chunk.num_rows
        self._bytes += chunk.nbytes

    def may_have_batch(self) -> bool:
        """Return whether there may be enough rows for a whole batch."""
        return self.num_rows >= self._limits.rows or self._bytes >= max(self._limits.size, 2 * self._looked_at)

    def take(self, *, is_end: bool = False) -> list[tuple[Chunk, pa.RecordBatch]]:
        """Remove and return the first batches that are whole, rows and arguments; ``is_end``: the last rows, too.

        There must be some rows.
        """
        rows = concat_chunks(self._chunks)
        first = rows.slice(0, self._limits.rows)
        arguments = self._arguments(first)
        ends = whole_batches(arguments, self._limits)
        if is_end and first.num_rows == rows.num_rows and (not ends or ends[-1] < rows.num_rows):
            ends.append(rows.num_rows)
        taken = [
            (first.slice(start, end - start), arguments.slice(start, end - start))
            for start, end in zip([0, *ends], ends, strict=False)
        ]
        rest = rows.slice(ends[-1] if ends else 0)
        self._chunks = [rest] if rest.num_rows else []
        self.num_rows = rest.num_rows
        self._bytes = rest.nbytes
        self._looked_at = 0 if ends else self._bytes
        return taken

    def clear(self) -> None:
        """Drop all rows."""
        self._chunks = []
        self.num_rows = self._bytes = self._looked_at = 0
