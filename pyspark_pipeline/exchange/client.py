"""The receiving end of a fragment instance: Spark's one stream of chunk rows, read on demand of the feed.

Spark already merged the senders of an input, so one stream holds everything: the control message, then the chunks of
every input, or the names of the files that have them. :class:`~pyspark_pipeline.exec.input_queue.InputFeed` distributes
the pairs to the queues of the sources.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import pyarrow as pa

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exchange.block_stream_reader import read_blocks
from pyspark_pipeline.exchange.chunk_row import BLOCKS, CONTROL, ChunkRow, unpack_rows
from pyspark_pipeline.exchange.codec import payload_count


class ExchangeClient:
    """Reads chunk rows from ``batches``: :meth:`control` first, then :meth:`stream`."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._rows_left = 0
        self._is_in_blocks = False
        self._from_blocks: Counter[int] = Counter()
        self._rows = self._read(batches)

    def _read(self, batches: Iterator[pa.RecordBatch]) -> Iterator[ChunkRow]:
        for batch in batches:
            self._rows_left = batch.num_rows
            for row in unpack_rows(batch):
                self._rows_left -= 1
                yield row

    def has_rows(self) -> bool:
        """Return whether the current batch has another row, so that reading it does not block."""
        return self._is_in_blocks or self._rows_left > 0

    def control(self) -> bytes:
        """Return the control message (UTF-8 JSON); raise :class:`EngineBugError` if it is not the first row."""
        row = next(self._rows, None)
        if row is None or row.partition != CONTROL:
            raise EngineBugError("the input of a fragment does not start with its control message")
        message: bytes = row.data.to_pybytes()
        return message

    def stream(self) -> Iterator[tuple[int, ChunkRow]]:
        """Yield the remaining rows as pairs of input id and chunk row."""
        for row in self._rows:
            if row.driver == BLOCKS:
                self._is_in_blocks = True
                for read in read_blocks(row):
                    self._from_blocks[row.partition] += payload_count(read.data)
                    yield row.partition, read
                self._is_in_blocks = False
            else:
                yield row.partition, row

    def take_counts(self) -> Mapping[str, int]:
        """Return the number of chunk rows read from blocks since the last call, by input id."""
        counts = {str(number): count for number, count in self._from_blocks.items()}
        self._from_blocks = Counter()
        return counts

    def expect_end(self) -> None:
        """Read a stream without chunks to its end: Spark reuses a worker only if its input was consumed."""
        for row in self._rows:
            raise EngineBugError(f"a chunk came for input {row.partition} of a fragment that has no input")
