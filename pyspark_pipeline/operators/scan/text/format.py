"""Text files as Spark's ``text`` source reads them: one string column, one row for each line."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.operators.scan.formats import reads_format
from pyspark_pipeline.operators.scan.line_parts import GROUP_BYTES, LineFileReader
from pyspark_pipeline.operators.scan.reader import FileReader, ReadRequest, null_chunks


@reads_format("text", label="text", types=["string"])
def open_text(path: str, request: ReadRequest) -> FileReader:
    """Open a file; the option ``lineSep`` is a separator of one byte."""
    separator = request.options.get("lineSep")
    return TextFileReader(path, bool(request.columns), separator.encode() if separator is not None else None)


class TextFileReader(LineFileReader):
    """Reads the lines of the file at a local path, or if ``has_column`` is false only how many there are."""

    def __init__(self, path: str, has_column: bool, separator: bytes | None, group_bytes: int = GROUP_BYTES) -> None:
        self._has_column = has_column
        super().__init__(path, separator, group_bytes)

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
