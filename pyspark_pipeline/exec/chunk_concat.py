"""Join chunks of one stream into one chunk, keeping dictionary columns dictionaries where all of them are.

Columns go by ordinal; names are not looked at. Arrow unifies unequal dictionaries while it concatenates.
Where some chunks carry a string column as a dictionary and others plain, the column becomes plain; so it
does where the dictionaries together are larger than the rows (unifying them would cost more than it saves).
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pyspark_pipeline.kernels.buffers import rows_only


def concat_chunks(chunks: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Concatenate at least one chunk of equal column types (save dictionary/plain strings), rows in order."""
    if len(chunks) == 1:
        return chunks[0]
    if not chunks[0].num_columns:
        return rows_only(sum(chunk.num_rows for chunk in chunks))
    columns = [_concat([chunk.column(i) for chunk in chunks]) for i in range(chunks[0].num_columns)]
    return pa.RecordBatch.from_arrays(columns, names=chunks[0].schema.names)


def _concat(arrays: list[pa.Array]) -> pa.Array:
    encoded = [array for array in arrays if isinstance(array, pa.DictionaryArray)]
    if encoded and (len(encoded) < len(arrays) or _is_wide(encoded)):
        arrays = [array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array for array in arrays]
    return pa.concat_arrays(arrays)


def _is_wide(arrays: list[pa.DictionaryArray]) -> bool:
    rows = sum(len(array) for array in arrays)
    entries = sum(len(array.dictionary) for array in arrays)
    return entries > max(rows, len(arrays[0].dictionary))
