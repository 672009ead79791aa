"""The FIFO buffer of rows whose window function values are not known yet; it spills to a file if memory is short."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import pyarrow as pa

from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.memory.spill_files import SpillFile, SpillFiles, count_spill


class RowBuffer:
    """A queue of non-empty chunks. After a spill, further chunks are also written, until the file is read."""

    def __init__(self, context: OperatorContext) -> None:
        self._context = context
        self._files = SpillFiles(context.spill)
        self._items: deque[Chunk | SpillFile] = deque()
        self._queued_bytes = 0
        self._written: SpillFile | None = None
        self._read: Iterator[Chunk] | None = None
        self._front: Chunk | None = None

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self._queued_bytes + (0 if self._front is None else self._front.nbytes)

    def add(self, chunk: Chunk) -> None:
        """Append a chunk. Raises :class:`ResourceExhaustedError` if it must be written and cannot be."""
        if self._written is not None:
            self._written.write(chunk)
        else:
            self._items.append(chunk)
            self._queued_bytes += chunk.nbytes

    def spill(self) -> None:
        """Spill the chunks in memory to a file, except the remainder of a partly taken chunk."""
        chunks: list[Chunk] = []
        while self._items and not isinstance(self._items[-1], SpillFile):
            chunks.append(self._items.pop())
        if not chunks:
            return
        file = self._files.create()
        for chunk in reversed(chunks):
            file.write(chunk)
        self._written = file
        self._items.append(file)
        self._queued_bytes = 0

    def take(self, most: int) -> Chunk:
        """Remove and return the next rows, 1 to ``most``; the buffer must not be empty."""
        while self._front is None:
            self._front = self._next_chunk()
        piece = self._front.slice(0, most)
        self._front = self._front.slice(most) if self._front.num_rows > most else None
        return piece

    def close(self) -> None:
        """Release the chunks and files. Idempotent."""
        self._items.clear()
        self._queued_bytes = 0
        self._read = self._front = self._written = None
        self._files.close()

    def _next_chunk(self) -> Chunk | None:
        """Return the next chunk; None at the end of a file."""
        item = self._items[0]
        if isinstance(item, pa.RecordBatch):
            self._items.popleft()
            self._queued_bytes -= item.nbytes
            return item
        if self._read is None:
            self._read = self._reader(item)
        chunk = next(self._read, None)
        if chunk is None:
            self._items.popleft()
            self._read = None
            self._files.drop(item)
        return chunk

    def _reader(self, file: SpillFile) -> Iterator[Chunk]:
        if file is self._written:
            file.finish()
            count_spill(self._context.metrics, [file])
            self._written = None
        return file.read()
