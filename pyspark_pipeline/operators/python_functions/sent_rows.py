"""The rows that were sent to a function on a thread and wait for their results."""

from __future__ import annotations

from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.operators.windows.row_buffer import RowBuffer


class SentRows:
    """A queue of rows whose bytes the operator of ``context`` reserves; they spill if these do not fit."""

    def __init__(self, context: OperatorContext) -> None:
        self._memory = context.memory
        self._rows = RowBuffer(context)

    def add(self, rows: Chunk) -> None:
        """Append a chunk. Raises :class:`ResourceExhaustedError` if it must be written and cannot be."""
        self._rows.add(rows)
        self._reserve()

    def take(self, most: int) -> Chunk:
        """Remove and return the next rows, 1 to ``most``; there must be some."""
        rows = self._rows.take(most)
        self._reserve()
        return rows

    def close(self) -> None:
        """Release the rows and their bytes. Idempotent."""
        self._rows.close()
        self._memory.reserve(0)

    def _reserve(self) -> None:
        if not self._memory.try_reserve(self._rows.nbytes):
            self._rows.spill()
            self._memory.reserve_unchecked(self._rows.nbytes)
