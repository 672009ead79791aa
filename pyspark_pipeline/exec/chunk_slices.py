"""Cut a chunk into pieces."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa


def slices(chunk: pa.RecordBatch, rows: int) -> Iterator[pa.RecordBatch]:
    """Give the rows of a chunk in slices of at most ``rows`` rows; nothing is copied."""
    if 0 < chunk.num_rows <= rows:
        yield chunk
        return
    for start in range(0, chunk.num_rows, rows):
        yield chunk.slice(start, rows)
