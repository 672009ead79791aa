"""Makes sorted runs of the chunks of one driver."""

from __future__ import annotations

import pyarrow as pa

from pyspark_pipeline.exec.chunk_bytes import ChunkBytes
from pyspark_pipeline.exec.chunk_concat import concat_chunks
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.operators.sort_keys import RowOrder
from pyspark_pipeline.operators.sort_runs import MemoryRun, SortedRun

_MOST_BYTES = 1 << 30
_MOST_ROWS = 1 << 28
_ROW_BYTES = 24


class RunCollector:
    """Chunks in, sorted runs out, earlier rows in earlier runs."""

    def __init__(self, order: RowOrder, batch_rows: int, context: OperatorContext) -> None:
        self.runs: list[SortedRun] = []
        self._order = order
        self._batch_rows = batch_rows
        self._memory = context.memory
        self._chunks: list[Chunk] = []
        self._rows = 0
        self._bytes = 0
        self._estimate = ChunkBytes()

    def add(self, chunk: Chunk) -> None:
        """Take a chunk."""
        nbytes = self._estimate.estimate(chunk)
        if self._chunks and (self._bytes + nbytes > _MOST_BYTES or self._rows + chunk.num_rows > _MOST_ROWS):
            self._sort()
        self._chunks.append(chunk)
        self._rows += chunk.num_rows
        self._bytes += nbytes
        self._hold()

    def finish(self) -> None:
        """Sort what is left."""
        self._sort()
        self._hold()

    def close(self) -> None:
        """Drop everything. Repeatable."""
        for run in self.runs:
            run.close()
        self.runs, self._chunks, self._bytes, self._rows = [], [], 0, 0
        self._memory.hold(0)

    def _hold(self) -> None:
        self._memory.hold(2 * self._bytes + _ROW_BYTES * self._rows + sum(run.nbytes for run in self.runs))

    def _sort(self) -> None:
        chunks, self._chunks, self._bytes, self._rows = self._chunks, [], 0, 0
        if chunks:
            self.runs += self._sorted(chunks)

    def _sorted(self, chunks: list[Chunk]) -> list[MemoryRun]:
        """Sort chunks into one run; into more where a column of them all is too large for one array."""
        try:
            together = concat_chunks(chunks)
        except pa.ArrowInvalid:
            if len(chunks) == 1:
                raise
            half = len(chunks) // 2
            return self._sorted(chunks[:half]) + self._sorted(chunks[half:])
        return [MemoryRun(together, self._order.sorted_rows(together), self._batch_rows)]
