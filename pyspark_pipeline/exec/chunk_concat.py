"""Concatenate chunks of one stream; a column stays dictionary-encoded if it is so in every chunk.

Columns are matched by ordinal; names are ignored. Arrow unifies unequal dictionaries while it concatenates. A string
column becomes plain if some chunks have it plain, or if the dictionaries together have more entries than there are rows
(unifying them would cost more than it saves).
A column that has the null type in some chunks is unused, and gets the null type.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pyspark_pipeline.kernels.buffers import rows_only


def concat_chunks(chunks: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Concatenate at least one chunk of equal column types (except plain strings and unused columns), rows in order."""
    if len(chunks) == 1:
        return chunks[0]
    if not chunks[0].num_columns:
        return rows_only(sum(chunk.num_rows for chunk in chunks))
    columns = [_concat([chunk.column(i) for chunk in chunks]) for i in range(chunks[0].num_columns)]
    return pa.RecordBatch.from_arrays(columns, names=chunks[0].schema.names)


def _concat(arrays: list[pa.Array]) -> pa.Array:
    if any(isinstance(array, pa.NullArray) for array in arrays):
        return pa.nulls(sum(len(array) for array in arrays))
    encoded = [array for array in arrays if isinstance(array, pa.DictionaryArray)]
    if encoded and (len(encoded) < len(arrays) or _is_wide(encoded)):
        arrays = [array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array for array in arrays]
    return pa.concat_arrays(arrays)


def _is_wide(arrays: list[pa.DictionaryArray]) -> bool:
    rows = sum(len(array) for array in arrays)
    entries = sum(len(array.dictionary) for array in arrays)
    return entries > max(rows, len(arrays[0].dictionary))
