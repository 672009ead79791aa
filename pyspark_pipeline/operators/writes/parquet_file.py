"""Writes one Parquet file with Arrow's writer."""

from __future__ import annotations

import inspect
import os
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pyspark_pipeline.operators.writes.parquet_columns import INT96, WrittenColumns
from pyspark_pipeline.operators.writes.parquet_footer import replace_footer
from pyspark_pipeline.plan.writes import ParquetLayout

_CODECS = {"UNCOMPRESSED": "none", "LZ4_RAW": "lz4"}

#: Options that older releases of pyarrow do not have.
_KNOWN = inspect.signature(pq.ParquetWriter.__init__).parameters


def writer_options(layout: ParquetLayout) -> dict[str, Any]:
    """Return the options of Arrow's writer for files of ``layout``."""
    options = {
        "version": "1.0",
        "compression": _CODECS.get(layout.codec, layout.codec.lower()),
        "compression_level": layout.level,
        "use_dictionary": layout.dictionary,
        "dictionary_pagesize_limit": layout.dictionary_bytes,
        "data_page_size": layout.page_bytes,
        "max_rows_per_page": layout.page_rows,
        "use_deprecated_int96_timestamps": layout.timestamps == INT96,
        "write_page_index": True,
        "store_schema": False,
    }
    return {name: value for name, value in options.items() if name in _KNOWN or name == "data_page_size"}


class ParquetFile:
    """A file at ``path``, which is created, of chunks of the written ``columns``.

    The rows of a row group are collected, then encoded.
    """

    def __init__(self, path: str, columns: WrittenColumns, layout: ParquetLayout, options: dict[str, Any]) -> None:
        self.path = path
        self.rows = 0
        self.held_bytes = 0
        self._columns = columns
        self._layout = layout
        self._options = options
        self._held: list[pa.RecordBatch] = []
        self._with_nan: set[tuple[int, int]] = set()
        self._groups = 0
        self._writer: pq.ParquetWriter | None = None
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.fchmod(number, layout.mode)
        os.close(number)
        self._sink = pa.OSFile(path, "wb")

    def add(self, chunk: pa.RecordBatch, nbytes: int) -> None:
        """Add the rows of a chunk, of about ``nbytes``."""
        self._held.append(chunk)
        self.rows += chunk.num_rows
        self.held_bytes += nbytes
        if self.held_bytes >= self._layout.row_group_bytes:
            self.end_row_group()

    def end_row_group(self) -> None:
        """Encode and write the collected rows as a row group."""
        if not self._held:
            return
        for chunk in self._held:
            self._with_nan.update((self._groups, leaf) for leaf in self._columns.leaves_with_nan(chunk))
        table = pa.Table.from_batches(self._held)
        self._held = []
        self.held_bytes = 0
        if self._writer is None:
            self._writer = self._open_writer(table)
        self._writer.write_table(table, row_group_size=table.num_rows)
        self._groups += 1

    def _open_writer(self, first: pa.Table) -> pq.ParquetWriter:
        options = self._options
        if self._layout.dictionary:
            options = options | {"use_dictionary": self._columns.dictionary_columns(first)}
        return pq.ParquetWriter(self._sink, self._columns.schema, **options)

    def finish(self) -> None:
        """Write the last row group and the footer."""
        self.end_row_group()
        if self._writer is not None:
            self._writer.close()
        self.close()
        replace_footer(self.path, self._layout.footer, self._with_nan)

    def close(self) -> None:
        """Close the file, finished or not. Repeatable."""
        self._held = []
        self._sink.close()
