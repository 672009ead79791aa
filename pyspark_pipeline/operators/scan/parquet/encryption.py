"""Files with a plaintext footer and encrypted columns, whose metadata crash pyarrow (the process ends).

Such a footer is followed by its signature, so it is shorter than the length in the file. Spark without keys reads the
columns that are not encrypted; so does the engine. The format: ``parquet.thrift`` (FileMetaData 4 is the list of
RowGroup: 1 the list of ColumnChunk, 2 total_byte_size, 5 file_offset, 6 total_compressed_size; ColumnChunk 8 is
crypto_metadata).
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.parquet as pq

from pyspark_pipeline.operators.scan.parquet.thrift import (
    footer_bytes,
    footer_length,
    list_header,
    struct_fields,
    zigzag,
)

_ROW_GROUPS = 4
_COLUMNS, _BYTES, _OFFSET, _COMPRESSED = 1, 2, 5, 6
_CRYPTO = 8
_FIRST_OFFSET = 4


@dataclass(frozen=True, slots=True)
class EncryptedColumns:
    """The numbers of a file's encrypted columns, and the middle of each of its row groups."""

    leaves: frozenset[int]
    midpoints: list[int]


def encrypted_columns(path: str, footer: pq.FileMetaData) -> EncryptedColumns | None:
    """Return the encrypted columns of a file with a plaintext footer, None if it has none."""
    if footer_length(path) == footer.serialized_size:
        return None
    data = footer_bytes(path)
    fields, _ = struct_fields(data, 0, last=_ROW_GROUPS)
    _, count, at = list_header(data, fields[-1][2])
    leaves: set[int] = set()
    midpoints = []
    for _ in range(count):
        group, end = struct_fields(data, at)
        starts = {number: start for number, _, start, _ in group}
        leaves |= _encrypted(data, starts[_COLUMNS])
        size = zigzag(data, starts.get(_COMPRESSED, starts[_BYTES]))[0]
        offset = zigzag(data, starts[_OFFSET])[0] if _OFFSET in starts else _FIRST_OFFSET
        midpoints.append(offset + size // 2)
        at = end
    return EncryptedColumns(frozenset(leaves), midpoints) if leaves else None


def _encrypted(data: bytes, at: int) -> set[int]:
    """Return the indices of the encrypted columns in the list of column chunks at ``at``."""
    _, count, at = list_header(data, at)
    found = set()
    for place in range(count):
        chunk, at = struct_fields(data, at)
        if any(number == _CRYPTO for number, *_ in chunk):
            found.add(place)
    return found
