"""Cheap estimates of the bytes of chunks: ``RecordBatch.nbytes`` costs 2 µs a column, so it is sampled."""

from __future__ import annotations

import pyarrow as pa

_SAMPLE_MASK = 15


class ChunkBytes:
    """Estimates the bytes of similar chunks of one stream: measures the first and every 16th, scales by rows."""

    __slots__ = ("_seen", "_per_row")

    def __init__(self) -> None:
        self._seen = 0
        self._per_row = 0.0

    def estimate(self, chunk: pa.RecordBatch) -> int:
        """Return the estimated bytes of ``chunk``, at least 1; exact for the first chunk and for fixed-width rows."""
        rows = chunk.num_rows
        if not rows:
            return 1
        if not self._seen & _SAMPLE_MASK:
            self._per_row = chunk.nbytes / rows
        self._seen += 1
        return int(self._per_row * rows) or 1
