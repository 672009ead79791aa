"""Text files as Spark's ``text`` source reads them: one string column, one row for each line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.operators.scan.formats import reads_format
from pyspark_pipeline.operators.scan.line_parts import GROUP_BYTES, LineParts
from pyspark_pipeline.operators.scan.lines import LineCutter
from pyspark_pipeline.operators.scan.reader import FileReader, ReadRequest, null_chunks
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import ScanSplit


@reads_format("text", label="text", types=["string"])
def open_text(path: str, request: ReadRequest) -> FileReader:
    """Open a file; the option ``lineSep`` is a separator of one byte."""
    separator = request.options.get("lineSep")
    return TextFileReader(path, bool(request.columns), separator.encode() if separator is not None else None)


class TextFileReader:
    """Reads the lines of the file at a local path, or if ``has_column`` is false only how many there are."""

    def __init__(self, path: str, has_column: bool, separator: bytes | None, group_bytes: int = GROUP_BYTES) -> None:
        self._has_column = has_column
        self._cutter = LineCutter(separator)
        self._parts = LineParts(path, self._cutter, group_bytes)

    def row_groups(self, split: ScanSplit) -> Sequence[int]:
        """Return numbers of parts of the split."""
        return self._parts.row_groups(split)

    def may_match(self, groups: Sequence[int], conjuncts: Sequence[Expr]) -> Sequence[int]:
        """Return all ``groups``: there are no statistics."""
        return groups

    def num_rows(self, group: int) -> int | None:
        """Return None: lines are counted when they are read."""
        return None

    def num_bytes(self, group: int) -> int:
        """Return the bytes of the part."""
        return self._parts.num_bytes(group)

    def chunks(self, group: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the lines that belong to the part."""
        for text in self._parts.texts(group):
            if not self._has_column:
                yield from null_chunks((), self._cutter.count(text), batch_rows)
                continue
            lines = self._cutter.lines(text)
            for at in range(0, len(lines), batch_rows):
                part = lines.slice(at, batch_rows)
                yield make_chunk([part], len(part))

    def close(self) -> None:
        """Do nothing: a file is open only while a row group is read."""
