"""Makes sorted runs of the chunks of one driver: in memory, and in spill files where memory is short.

Where the tracker refuses more, what has come so far is sorted and written to a file. Of every sixteen files next
to each other that were merged equally often one is made, so that few are open at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pyspark_pipeline.exec.chunk_bytes import ChunkBytes
from pyspark_pipeline.exec.chunk_concat import concat_chunks
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.expressions.row_order import RowOrder
from pyspark_pipeline.kernels.kept_pages import KEPT
from pyspark_pipeline.memory.spill_files import SpillFiles, count_spill
from pyspark_pipeline.operators.sort_runs import MemoryRun, OrderedRun, RunMerge, SortedChunk, SortedRun, SpilledRun

_MOST_BYTES = 1 << 30
_MOST_ROWS = 1 << 28
_FAN = 16
#: A chunk of a spill file has this part of its run, so that a merge of ``_FAN`` needs less than the run did …
_CHUNKS_OF_RUN = 2 * _FAN
#: … within these bytes.
_LEAST_CHUNK, _MOST_CHUNK = 16 << 10, 1 << 20


class RunCollector:
    """Chunks in, sorted runs out, earlier rows in earlier runs.

    Where it ``gets_runs``, chunks come sorted, and one that goes on where the one before ended is of the same run.
    """

    def __init__(self, order: RowOrder, batch_rows: int, context: OperatorContext, *, gets_runs: bool = False) -> None:
        self.runs: list[SortedRun] = []
        self._order = order
        self._gets_runs = gets_runs
        self._batch_rows = batch_rows
        self._context = context
        self._files = SpillFiles(context.spill)
        self._chunks: list[Chunk] = []
        self._rows = 0
        self._bytes = 0
        self._estimate = ChunkBytes()

    def add(self, chunk: Chunk) -> None:
        """Take a chunk. Raises :class:`ResourceExhaustedError` where it must be spilled and cannot be."""
        nbytes = self._estimate.estimate(chunk)
        is_full = self._bytes + nbytes > _MOST_BYTES or self._rows + chunk.num_rows > _MOST_ROWS
        if self._chunks and (is_full or (self._gets_runs and not self._goes_on(chunk))):
            self._sort()
        self._chunks.append(chunk)
        self._rows += chunk.num_rows
        self._bytes += nbytes
        if not self._context.memory.try_hold(self._needed()):
            self.spill()

    def spill(self) -> None:
        """Write everything in memory to files."""
        self._context.memory.force(max(self._needed(), self._context.memory.held))
        self._sort()
        for place, run in enumerate(self.runs):
            if isinstance(run, MemoryRun):
                rows = run.rows_within(min(max(run.nbytes // _CHUNKS_OF_RUN, _LEAST_CHUNK), _MOST_CHUNK))
                run.batch_rows = min(rows, self._batch_rows)
                self.runs[place] = self._written(run, run.batch_rows, 0)
        self._context.memory.hold(0)
        while (fan := self._mergeable()) and not self._context.is_cancelled():
            rows = max(run.chunk_rows for run in fan)
            together = RunMerge(fan, self._order, rows)
            self.runs[-_FAN:] = [self._written(together, rows, fan[0].level + 1)]
            self._context.memory.hold(0)

    def finish(self) -> None:
        """Sort what is left; it stays in memory."""
        self._sort()
        self._context.memory.hold(min(self._needed(), self._context.memory.held))

    def close(self) -> None:
        """Drop everything, files too. Repeatable."""
        for run in self.runs:
            run.close()
        self._files.close()
        self.runs, self._chunks, self._bytes, self._rows = [], [], 0, 0
        self._context.memory.hold(0)

    def _needed(self) -> int:
        """Give the bytes held now and while the chunks are sorted: copied into one piece, which then is ordered."""
        runs = sum(run.nbytes for run in self.runs if isinstance(run, MemoryRun))
        more = 0 if self._gets_runs else max(self._bytes, self._order.row_bytes * self._rows)
        return runs + self._bytes + more

    def _goes_on(self, chunk: Chunk) -> bool:
        """Whether no row of ``chunk``, which is sorted, comes before those that wait."""
        last = self._chunks[-1]
        ends = concat_chunks([last.slice(last.num_rows - 1), chunk.slice(0, 1)])
        return bool(self._order.sorted_rows(ends)[0] == 0)

    def _sort(self) -> None:
        chunks, self._chunks, self._bytes, self._rows = self._chunks, [], 0, 0
        if chunks:
            self.runs += [OrderedRun(chunks, self._batch_rows)] if self._gets_runs else self._sorted(chunks)

    def _sorted(self, chunks: list[Chunk]) -> list[SortedRun]:
        """Sort chunks into one run, dropping them; into more where a column of them all is too large for one array."""
        try:
            together = concat_chunks(chunks)
        except pa.ArrowInvalid:
            if len(chunks) == 1:
                raise
            half = len(chunks) // 2
            return self._sorted(chunks[:half]) + self._sorted(chunks[half:])
        chunks.clear()
        return [SortedChunk(together, self._order.sorted_rows(together), self._batch_rows)]

    def _mergeable(self) -> list[SpilledRun]:
        """Give the last runs where they are as many as are merged, and equally often merged; else none."""
        last = [run for run in self.runs[-_FAN:] if isinstance(run, SpilledRun)]
        return last if len(last) == _FAN and last[0].level == last[-1].level else []

    def _written(self, run: MemoryRun | RunMerge, chunk_rows: int, level: int) -> SpilledRun:
        """Write a run to a file and close it."""
        file = self._files.create()
        for chunk in self._chunks_of(run):
            if isinstance(run, RunMerge) and not file.rows:
                self._context.memory.force(run.nbytes)
            file.write(chunk)
        file.finish()
        run.close()
        KEPT.left(file.memory_bytes)
        count_spill(self._context.metrics, [file])
        return SpilledRun(file, chunk_rows, level)

    def _chunks_of(self, run: MemoryRun | RunMerge) -> Iterator[Chunk]:
        """Give the chunks of a run; none any more once the query is cancelled."""
        while (chunk := run.next_chunk()) is not None and not self._context.is_cancelled():
            yield chunk
