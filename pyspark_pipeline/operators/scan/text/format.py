"""Text files as Spark's ``text`` source reads them: one string column, one row for each line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import pyarrow as pa

from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.operators.scan.formats import reads_format
from pyspark_pipeline.operators.scan.reader import FileReader, ReadRequest, null_chunks
from pyspark_pipeline.operators.scan.text.lines import LineCutter
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import ScanSplit

#: The bytes of a row group: thousands of lines for a chunk, in buffers that allocators reuse (larger ones they return).
_GROUP_BYTES = 512 << 10
_COMPRESSED = ".gz"


@reads_format("text", label="text", types=["string"])
def open_text(path: str, request: ReadRequest) -> FileReader:
    """Open a file; the option ``lineSep`` is a separator of one byte."""
    separator = request.options.get("lineSep")
    return TextFileReader(path, bool(request.columns), separator.encode() if separator is not None else None)


class TextFileReader:
    """Reads the lines of the file at a local path, or if ``has_column`` is false only how many there are.

    A file whose name ends with ``.gz`` is one row group; the row groups of others are parts of a split.
    """

    def __init__(self, path: str, has_column: bool, separator: bytes | None, group_bytes: int = _GROUP_BYTES) -> None:
        os.stat(path)
        self._path = path
        self._has_column = has_column
        self._cutter = LineCutter(separator)
        self._group_bytes = group_bytes
        self._parts: list[tuple[int, int]] = []

    def row_groups(self, split: ScanSplit) -> Sequence[int]:
        """Return numbers of parts of the split; a compressed file has one split."""
        start, stop = split.start, split.start + split.length
        step = split.length if self._is_compressed else self._group_bytes
        self._parts = [(at, min(at + step, stop)) for at in range(start, stop, max(step, 1))]
        return range(len(self._parts))

    def may_match(self, groups: Sequence[int], conjuncts: Sequence[Expr]) -> Sequence[int]:
        """Return all ``groups``: there are no statistics."""
        return groups

    def num_rows(self, group: int) -> int | None:
        """Return None: lines are counted when they are read."""
        return None

    def num_bytes(self, group: int) -> int:
        """Return the bytes of the part."""
        start, stop = self._parts[group]
        return stop - start

    def chunks(self, group: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the lines that belong to the part."""
        for text in self._texts(group):
            if not self._has_column:
                yield from null_chunks((), self._cutter.count(text), batch_rows)
                continue
            lines = self._cutter.lines(text)
            for at in range(0, len(lines), batch_rows):
                part = lines.slice(at, batch_rows)
                yield make_chunk([part], len(part))

    def close(self) -> None:
        """Do nothing: a file is open only while a row group is read."""

    @property
    def _is_compressed(self) -> bool:
        return self._path.endswith(_COMPRESSED)

    def _texts(self, group: int) -> Iterator[bytes]:
        if self._is_compressed:
            with pa.input_stream(self._path, compression="gzip") as stream:
                yield from self._cutter.pieces(stream, self._group_bytes)
        else:
            with open(self._path, "rb") as file:
                yield self._cutter.part(file, *self._parts[group])
