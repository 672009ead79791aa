"""Split a chunk into slices."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa


def slices(chunk: pa.RecordBatch, rows: int) -> Iterator[pa.RecordBatch]:
    """Yield slices of at most ``rows`` rows of a chunk; zero-copy."""
    if 0 < chunk.num_rows <= rows:
        yield chunk
        return
    for start in range(0, chunk.num_rows, rows):
        yield chunk.slice(start, rows)
