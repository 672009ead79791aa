"""Drops the rows of a broadcast that reach no output, because a join above drops all rows that they are a part of.

A join with suppliers keeps all rows of ``partsupp``, and only then a join with one nation drops most of them. If the
nation's table filters the suppliers before theirs is built, the first join drops these rows, and so may the scan below.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.kernels.join_table import JoinProber, JoinTable
from pyspark_pipeline.kernels.take import filter_rows, take_rows
from pyspark_pipeline.operators import runtime_filters
from pyspark_pipeline.operators.runtime_filters import BuildFilter, sample_rows, share_found


def drop_unmatched(chunks: Sequence[Chunk], filters: Sequence[BuildFilter]) -> Sequence[Chunk]:
    """Return the rows of the chunks, all with rows, that all filters keep; a filter that drops few is not used."""
    for each in filters:
        table = each.keys.built_table()
        if chunks and table is not None and _is_selective(table, each.columns, chunks[0]):
            prober = JoinProber(table)
            left = (_matched(prober, each.columns, chunk) for chunk in chunks)
            chunks = [chunk for chunk in left if chunk.num_rows]
    return chunks


def _is_selective(table: JoinTable, columns: Sequence[int], chunk: Chunk) -> bool:
    """Return whether few enough rows of a sample of the chunk have a match."""
    sample = take_rows(chunk, sample_rows(chunk.num_rows))
    share = share_found(table, [sample.column(i) for i in columns], sample.num_rows)
    return share <= runtime_filters.MAX_PASS_RATE


def _matched(prober: JoinProber, columns: Sequence[int], chunk: Chunk) -> Chunk:
    entries, _ = prober.find([chunk.column(i) for i in columns], chunk.num_rows)
    return filter_rows(chunk, (entries >= 0).view(np.uint8))
