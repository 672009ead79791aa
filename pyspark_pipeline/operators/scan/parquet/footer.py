"""The footer of a Parquet file, read once a worker process for all splits of the file."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa
import pyarrow.parquet as pq

from pyspark_pipeline.errors import FooterError
from pyspark_pipeline.operators.scan.parquet.encryption import encrypted_columns
from pyspark_pipeline.operators.scan.parquet.unscaled import footer_without_arrow_schema, plain_footer

#: The golden ratio's fraction, of 32 bits: successive multiples of it are spread most evenly.
_GOLDEN_RATIO = 0x9E3779B9


@dataclass(frozen=True, slots=True)
class Footer:
    """The contents of a file's footer; ``encrypted`` are the numbers of the columns that need a key.

    ``midpoints`` are the places of the row groups in the file, in bytes.
    """

    metadata: pq.FileMetaData
    schema: pa.Schema
    midpoints: list[int]
    encrypted: frozenset[int]


@lru_cache(maxsize=16)
def read_footer(path: str, size: int, changed_ns: int) -> Footer:
    """Return the footer of the file of this size and modification time; raise :class:`FooterError`."""
    try:
        metadata = _metadata(path)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise FooterError(f"{path} could not be read as Parquet: {error}", path) from error
    try:
        encrypted = encrypted_columns(path, metadata)
    except (IndexError, KeyError, ValueError, RecursionError, struct.error) as error:
        message = f"{path} could not be read as Parquet: its footer is damaged: {error!r}"
        raise FooterError(message, path) from error
    schema = metadata.schema.to_arrow_schema()
    if encrypted is None:
        midpoints = [_midpoint(metadata.row_group(i)) for i in range(metadata.num_row_groups)]
        return Footer(metadata, schema, midpoints, frozenset())
    return Footer(metadata, schema, encrypted.midpoints, encrypted.leaves)


@lru_cache(maxsize=16)
def read_plain_footer(path: str, size: int, changed_ns: int, leaves: frozenset[int]) -> pq.FileMetaData | None:
    """Return the footer that makes pyarrow read ``leaves`` as stored; None if there are none or the rewrite fails."""
    return plain_footer(path, read_footer(path, size, changed_ns).metadata, leaves)


@lru_cache(maxsize=16)
def spread_places(path: str, size: int, changed_ns: int) -> Sequence[float]:
    """Return the places of the row groups, as fractions of the file, in an order that separates neighbours.

    A place is the midpoint by rows, in the order of the fractions of multiples of 0.618.
    """
    metadata = read_footer(path, size, changed_ns).metadata
    rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    total, before = max(1, sum(rows)), 0
    midpoints = [0.0] * len(rows)
    for i in sorted(range(len(rows)), key=lambda number: number * _GOLDEN_RATIO & 0xFFFFFFFF):
        midpoints[i] = (before + rows[i] / 2) / total
        before += rows[i]
    return midpoints


def _metadata(path: str) -> pq.FileMetaData:
    """Return the metadata of the file, without its Arrow schema if pyarrow cannot decode that: Spark ignores it."""
    try:
        return pq.read_metadata(path)
    except pa.ArrowException:
        with suppress(IndexError, ValueError, RecursionError, struct.error, pa.ArrowException, OSError):
            return footer_without_arrow_schema(path)
        raise


def _midpoint(group: pq.RowGroupMetaData) -> int:
    """Return the midpoint by parquet-mr's rule: the first page of the first column plus half the compressed size."""
    columns = [group.column(i) for i in range(group.num_columns)]
    if not columns:
        return 0
    first = columns[0].data_page_offset
    if columns[0].dictionary_page_offset is not None:
        first = min(first, columns[0].dictionary_page_offset)
    return int(first + sum(column.total_compressed_size for column in columns) // 2)
