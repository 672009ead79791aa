"""Builds sorted runs from the chunks of one driver: in memory, and in spill files if memory is short.

If the memory tracker rejects a reservation, the buffered rows are sorted and written to a file. Sixteen adjacent files
of the same merge level are merged into one, so that few files are open at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pyspark_pipeline.exec.chunk_bytes import ChunkBytes
from pyspark_pipeline.exec.chunk_concat import concat_chunks
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.expressions.row_order import RowOrder
from pyspark_pipeline.kernels.allocator_trim import ALLOCATOR_TRIM
from pyspark_pipeline.memory.spill_files import SpillFiles, count_spill
from pyspark_pipeline.operators.sorting.runs import MemoryRun, OrderedRun, RunMerge, SortedChunk, SortedRun, SpilledRun

_MAX_BYTES = 1 << 30
_MAX_ROWS = 1 << 28
_FAN = 16
#: A chunk of a spill file is at most this part of its run, so that a merge of ``_FAN`` runs needs less memory than one
#: run did …
_CHUNKS_OF_RUN = 2 * _FAN
#: … within these bytes.
_MIN_CHUNK, _MAX_CHUNK = 16 << 10, 1 << 20


class RunCollector:
    """Collects chunks into sorted runs; earlier rows are in earlier runs.

    If ``input_presorted``, chunks arrive sorted, and a chunk that continues the previous one joins its run.
    """

    def __init__(
        self, order: RowOrder, batch_rows: int, context: OperatorContext, *, input_presorted: bool = False
    ) -> None:
        self.runs: list[SortedRun] = []
        self._order = order
        self._input_presorted = input_presorted
        self._batch_rows = batch_rows
        self._context = context
        self._files = SpillFiles(context.spill)
        self._chunks: list[Chunk] = []
        self._rows = 0
        self._bytes = 0
        self._estimate = ChunkBytes()

    def add(self, chunk: Chunk) -> None:
        """Add a chunk. Raises :class:`ResourceExhaustedError` if it must be spilled and cannot be."""
        nbytes = self._estimate.estimate(chunk)
        is_full = self._bytes + nbytes > _MAX_BYTES or self._rows + chunk.num_rows > _MAX_ROWS
        if self._chunks and (is_full or (self._input_presorted and not self._continues_run(chunk))):
            self._sort()
        self._chunks.append(chunk)
        self._rows += chunk.num_rows
        self._bytes += nbytes
        if not self._context.memory.try_reserve(self._needed_bytes()):
            self.spill()

    def spill(self) -> None:
        """Spill everything in memory."""
        self._context.memory.reserve_unchecked(max(self._needed_bytes(), self._context.memory.held))
        self._sort()
        for place, run in enumerate(self.runs):
            if isinstance(run, MemoryRun):
                rows = run.rows_within(min(max(run.nbytes // _CHUNKS_OF_RUN, _MIN_CHUNK), _MAX_CHUNK))
                run.batch_rows = min(rows, self._batch_rows)
                self.runs[place] = self._write_run(run, run.batch_rows, 0)
        self._context.memory.reserve(0)
        while (fan := self._mergeable()) and not self._context.is_cancelled():
            rows = max(run.chunk_rows for run in fan)
            together = RunMerge(fan, self._order, rows)
            self.runs[-_FAN:] = [self._write_run(together, rows, fan[0].level + 1)]
            self._context.memory.reserve(0)

    def finish(self) -> None:
        """Sort the remaining chunks; they stay in memory."""
        self._sort()
        self._context.memory.reserve(min(self._needed_bytes(), self._context.memory.held))

    def close(self) -> None:
        """Release everything, including files. Repeatable."""
        for run in self.runs:
            run.close()
        self._files.close()
        self.runs, self._chunks, self._bytes, self._rows = [], [], 0, 0
        self._context.memory.reserve(0)

    def _needed_bytes(self) -> int:
        """Return the peak bytes of a sort: the bytes held, and the concatenated copy or the order of its rows."""
        runs = sum(run.nbytes for run in self.runs if isinstance(run, MemoryRun))
        more = 0 if self._input_presorted else max(self._bytes, self._order.row_bytes * self._rows)
        return runs + self._bytes + more

    def _continues_run(self, chunk: Chunk) -> bool:
        """Return whether no row of ``chunk``, which is sorted, sorts before the buffered rows."""
        last = self._chunks[-1]
        ends = concat_chunks([last.slice(last.num_rows - 1), chunk.slice(0, 1)])
        return bool(self._order.sorted_rows(ends)[0] == 0)

    def _sort(self) -> None:
        chunks, self._chunks, self._bytes, self._rows = self._chunks, [], 0, 0
        if chunks:
            self.runs += [OrderedRun(chunks, self._batch_rows)] if self._input_presorted else self._sorted(chunks)

    def _sorted(self, chunks: list[Chunk]) -> list[SortedRun]:
        """Sort chunks into one run and release them; into several if a column is too large for one array."""
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
        """Return the last ``_FAN`` runs if all are spilled and of one merge level; else an empty list."""
        last = [run for run in self.runs[-_FAN:] if isinstance(run, SpilledRun)]
        return last if len(last) == _FAN and last[0].level == last[-1].level else []

    def _write_run(self, run: MemoryRun | RunMerge, chunk_rows: int, level: int) -> SpilledRun:
        """Write a run to a file and close it."""
        file = self._files.create()
        for chunk in self._chunks_of(run):
            if isinstance(run, RunMerge) and not file.rows:
                self._context.memory.reserve_unchecked(run.nbytes)
            file.write(chunk)
        file.finish()
        run.close()
        ALLOCATOR_TRIM.note_freed(file.memory_bytes)
        count_spill(self._context.metrics, [file])
        return SpilledRun(file, chunk_rows, level)

    def _chunks_of(self, run: MemoryRun | RunMerge) -> Iterator[Chunk]:
        """Yield the chunks of a run; stop when the query is cancelled."""
        while (chunk := run.next_chunk()) is not None and not self._context.is_cancelled():
            yield chunk
