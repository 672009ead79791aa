"""One destination of an exchange sink: its buffered rows and their messages.

:meth:`Channel.send_chunk` sends at once; :meth:`Channel.add_rows` buffers chunks, or slices of partitioned chunks, and
sends when the buffered rows reach ``chunk_bytes`` or ``chunk_rows``. The sinks of several drivers have one channel each
for the same destination; the transport numbers the messages of a destination across all of them when it sends them. A
channel of a broadcast has several destinations and packs a chunk once for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter_ns as clock
from typing import TypeAlias

import pyarrow as pa

from pyspark_pipeline.exchange.codec import payload_bytes
from pyspark_pipeline.exchange.transport import Pack, Transport
from pyspark_pipeline.exec.chunk_slices import slices

#: Returns the rows of chunks as one chunk.
Concat: TypeAlias = Callable[[Sequence[pa.RecordBatch]], pa.RecordBatch]


@dataclass(slots=True, kw_only=True)
class Channel:
    """The buffered rows of one destination, or of several that receive the same (and of one driver; -1 is any)."""

    destinations: tuple[int, ...]
    transport: Transport
    chunk_rows: int
    chunk_bytes: int
    pack: Pack
    concat: Concat = pa.concat_batches
    driver: int = -1
    nbytes: int = 0
    rows: int = 0
    sent_messages: int = 0
    sent_bytes: int = 0
    encode_ns: int = 0
    _buffered: list[pa.RecordBatch] = field(default_factory=list)

    def send_chunk(self, chunk: pa.RecordBatch) -> None:
        """Send a plain chunk as one message, at once."""
        started = clock()
        payload = self.pack(chunk)
        self.encode_ns += clock() - started
        nbytes = payload_bytes(payload)
        for destination in self.destinations:
            self.sent_messages += 1
            self.sent_bytes += nbytes
            self.transport.send(destination, self.driver, chunk.num_rows, payload)

    def add_rows(self, part: pa.RecordBatch, nbytes: int) -> None:
        """Buffer a slice; flush first if both together exceed ``chunk_rows``."""
        if self.rows and self.rows + part.num_rows > self.chunk_rows:
            self.flush()
        self._buffered.append(part)
        self.rows += part.num_rows
        self.nbytes += nbytes
        if self.nbytes >= self.chunk_bytes or self.rows >= self.chunk_rows:
            self.flush()

    def flush(self) -> None:
        """Send the buffered rows in messages of at most ``chunk_rows`` rows."""
        if not self._buffered:
            return
        chunk = self.concat(self._buffered)
        self._buffered = []
        self.rows = self.nbytes = 0
        for piece in slices(chunk, self.chunk_rows):
            self.send_chunk(piece)

    def drop(self) -> None:
        """Discard the buffered rows."""
        self._buffered = []
        self.rows = self.nbytes = 0
