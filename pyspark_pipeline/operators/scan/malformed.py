"""Rows of text files of which some are malformed, by the mode of the read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import BoolArray
from pyspark_pipeline.kernels.buffers import make_chunk


class MalformedRecordError(OSError):
    """A record is malformed, and the read fails for it."""


def chunks_by_mode(
    columns: Sequence[pa.Array], is_bad: BoolArray, mode: str, batch_rows: int
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of ``columns``; in the mode DROPMALFORMED without those that are bad (shape (rows,)).

    In the mode FAILFAST raise :class:`MalformedRecordError` after the rows before the first bad one.
    """
    rows, fails = len(is_bad), False
    if mode == "FAILFAST" and is_bad.any():
        fails, rows = True, int(is_bad.argmax())
    elif mode == "DROPMALFORMED" and is_bad.any():
        kept = pa.array(~is_bad)
        columns, rows = [column.filter(kept) for column in columns], rows - int(np.count_nonzero(is_bad))
    for at in range(0, rows, batch_rows):
        size = min(batch_rows, rows - at)
        yield make_chunk([column.slice(at, size) for column in columns], size)
    if fails:
        raise MalformedRecordError("a record is malformed, and the mode is FAILFAST")
