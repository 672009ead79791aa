"""CSV files as Spark's ``csv`` source reads them: a row for each line that is neither blank nor a comment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.expressions.csv_fields import Fields, Lines, read_lines
from pyspark_pipeline.expressions.csv_options import CsvOptions
from pyspark_pipeline.expressions.per_value import java_text
from pyspark_pipeline.expressions.registry import ExpressionSettings
from pyspark_pipeline.operators.scan.formats import reads_format
from pyspark_pipeline.operators.scan.line_parts import FLAT_KINDS, GROUP_BYTES, LineFileReader
from pyspark_pipeline.operators.scan.malformed import chunks_by_mode
from pyspark_pipeline.operators.scan.reader import FileReader, ReadRequest
from pyspark_pipeline.plan.nodes import Field, ScanSplit

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLANK = bytes(range(33))


@reads_format("csv", label="CSV", types=FLAT_KINDS)
def open_csv(path: str, request: ReadRequest) -> FileReader:
    """Open a file; the options are those of :class:`CsvOptions`."""
    return CsvFileReader(path, request.columns, CsvOptions.of(request.options), request.expressions)


class CsvFileReader(LineFileReader):
    """Reads ``columns`` of the file at a local path. Times are in the time zone of ``settings``."""

    def __init__(
        self,
        path: str,
        columns: Sequence[Field],
        options: CsvOptions,
        settings: ExpressionSettings,
        group_bytes: int = GROUP_BYTES,
    ) -> None:
        self._columns = columns
        self._options = options
        fields = Fields(options, settings, settings.time_zone)
        self._converts = [fields.of(column.type) for column in columns]
        super().__init__(path, None, group_bytes)
        self._is_start = False
        #: The first row group with a line that is parsed, or the last one.
        self._first = -1

    def row_groups(self, split: ScanSplit) -> Sequence[int]:
        """Return numbers of parts of the split."""
        self._is_start = split.start == 0
        groups = super().row_groups(split)
        # A file that cannot be read fails when its rows are.
        with suppress(OSError):
            self._first = next((group for group in groups if group == groups[-1] or self._has_line(group)), -1)
        return groups

    def chunks(self, group: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the lines that belong to the part; raise OSError for a line that fails the read."""
        is_first = group == self._first
        for raw in self._parts.texts(group):
            text = self._decoded(raw)
            is_mark = False
            if is_first:
                start = self._first_line(text)
                if start < 0:
                    continue
                text, is_mark = self._without_header(text, start)
                is_first = False
            yield from self._chunks(read_lines(text, self._options, is_mark), batch_rows)

    def _has_line(self, group: int) -> bool:
        return any(self._first_line(self._decoded(text)) >= 0 for text in self._parts.texts(group))

    def _decoded(self, text: bytes) -> bytes:
        """Return lines as UTF-8 that end with LF, with U+FFFD for bytes that are not UTF-8."""
        try:
            text.decode()
        except UnicodeDecodeError:
            lines = java_text(self._cutter.lines(text)).to_pylist()
            return "\n".join([*lines, ""]).encode()
        return self._cutter.with_one_end(text)

    def _first_line(self, text: bytes) -> int:
        """Return where the first line starts that is parsed: the header, or a row; -1 if there is none."""
        comment = bytes([self._options.comment]) if self._options.comment >= 0 else None
        at = 0
        while at < len(text):
            stop = text.find(b"\n", at)
            line = text[at : stop if stop >= 0 else len(text)]
            if line.strip(_BLANK) and not (comment is not None and line.startswith(comment)):
                return at
            at += len(line) + 1
        return -1

    def _without_header(self, text: bytes, start: int) -> tuple[bytes, bool]:
        """Return the rows of ``text`` whose first line that is parsed starts at ``start``.

        The parser drops another mark of the byte order before its first line; whether the line is nothing else is
        returned too.
        """
        stop = text.find(b"\n", start)
        line = text[start : stop if stop >= 0 else len(text)]
        if self._options.header and self._is_start:
            read_lines(line, self._options)
            return (text[stop:] if stop >= 0 else b""), False
        is_mark = line == _BYTE_ORDER_MARK
        return text[start:].removeprefix(b"" if is_mark else _BYTE_ORDER_MARK), is_mark

    def _chunks(self, lines: Lines, batch_rows: int) -> Iterator[pa.RecordBatch]:
        columns, slot, rows = [], 0, len(lines)
        is_bad = np.zeros(rows, dtype=np.bool_)
        if self._options.counts:
            is_bad |= lines.counts != self._options.width
        for convert, place in zip(self._converts, self._options.places, strict=True):
            if place < 0:
                columns.append(lines.records())
                continue
            texts = lines.texts(slot)
            slot += 1
            column = texts if convert is None else convert(texts)
            columns.append(column)
            if self._options.tells_malformed and column.null_count > texts.null_count:
                is_bad |= pc.and_(column.is_null(), texts.is_valid()).to_numpy(zero_copy_only=False)
        if -1 in self._options.places:
            place = self._options.places.index(-1)
            shown = is_bad & (self._options.mode == "PERMISSIVE")
            columns[place] = pc.if_else(pa.array(shown), columns[place], pa.scalar(None, pa.string()))
        yield from chunks_by_mode(columns, is_bad, self._options.mode, batch_rows)
