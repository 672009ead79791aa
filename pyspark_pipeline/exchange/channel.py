"""One destination of an exchange sink: what waits to be sent there, and how it is sent.

Two ways in: :meth:`Channel.send_chunk` sends at once; :meth:`Channel.add_rows` collects chunks or slices of
partitioned chunks and sends when the waiting rows reach ``chunk_bytes`` or ``chunk_rows``. Several drivers'
sinks have a channel each for the same destination; the transport numbers the messages of a destination over
all of them when they leave. A channel of a broadcast has several destinations, and packs a chunk once for all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter_ns as clock

import pyarrow as pa

from pyspark_pipeline.exchange.codec import payload_bytes
from pyspark_pipeline.exchange.transport import Transport
from pyspark_pipeline.exec.chunk_slices import slices


@dataclass(slots=True, kw_only=True)
class Channel:
    """The waiting rows of one destination, or of several that get the same (and of one driver there; -1 is any)."""

    destinations: tuple[int, ...]
    transport: Transport
    chunk_rows: int
    chunk_bytes: int
    driver: int = -1
    nbytes: int = 0
    rows: int = 0
    sent_messages: int = 0
    sent_bytes: int = 0
    encode_ns: int = 0
    _waiting: list[pa.RecordBatch] = field(default_factory=list)

    def send_chunk(self, chunk: pa.RecordBatch) -> None:
        """Send a plain chunk as one message, at once."""
        started = clock()
        payload = self.transport.pack(chunk)
        self.encode_ns += clock() - started
        nbytes = payload_bytes(payload)
        for destination in self.destinations:
            self.sent_messages += 1
            self.sent_bytes += nbytes
            self.transport.send(destination, self.driver, chunk.num_rows, payload)

    def add_rows(self, part: pa.RecordBatch, nbytes: int) -> None:
        """Collect a slice; what waits is sent first where both together are too many rows."""
        if self.rows and self.rows + part.num_rows > self.chunk_rows:
            self.flush()
        self._waiting.append(part)
        self.rows += part.num_rows
        self.nbytes += nbytes
        if self.nbytes >= self.chunk_bytes or self.rows >= self.chunk_rows:
            self.flush()

    def flush(self) -> None:
        """Send what waits, in messages of at most ``chunk_rows`` rows."""
        if not self._waiting:
            return
        chunk = self._waiting[0] if len(self._waiting) == 1 else pa.concat_batches(self._waiting)
        self._waiting = []
        self.rows = self.nbytes = 0
        for piece in slices(chunk, self.chunk_rows):
            self.send_chunk(piece)

    def drop(self) -> None:
        """Forget what waits."""
        self._waiting = []
        self.rows = self.nbytes = 0
