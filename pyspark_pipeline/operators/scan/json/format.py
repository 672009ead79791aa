"""JSON files as Spark's ``json`` source reads them: a document in each line, a row for each object."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from pyspark_pipeline.operators.scan.formats import RequiredSetting, reads_format
from pyspark_pipeline.operators.scan.json.options import JsonOptions
from pyspark_pipeline.operators.scan.json.records import LineParser
from pyspark_pipeline.operators.scan.line_parts import GROUP_BYTES, LineParts
from pyspark_pipeline.operators.scan.lines import LineCutter
from pyspark_pipeline.operators.scan.malformed import chunks_by_mode
from pyspark_pipeline.operators.scan.reader import FileReader, ReadRequest
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import ScanSplit


@reads_format(
    "json",
    label="JSON",
    types=[
        "boolean",
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "float",
        "double",
        "decimal",
        "string",
        "date",
        "timestamp",
        "timestamp_ntz",
        "array",
        "map",
        "struct",
    ],
    settings=[
        RequiredSetting(conf="spark.sql.json.enablePartialResults", value="true"),
        RequiredSetting(conf="spark.sql.json.enableExactStringParsing", value="true"),
        RequiredSetting(conf="spark.sql.legacy.json.allowEmptyString.enabled", value="false"),
    ],
)
def open_json(path: str, request: ReadRequest) -> FileReader:
    """Open a file; the options are those of :class:`JsonOptions`."""
    return JsonFileReader(path, request, JsonOptions.of(request.options))


class JsonFileReader:
    """Reads the file at a local path."""

    def __init__(
        self, path: str, request: ReadRequest, options: JsonOptions, group_bytes: int = GROUP_BYTES
    ) -> None:
        self._mode = options.mode
        self._parser = LineParser(request, options)
        self._cutter = LineCutter(options.separator)
        self._parts = LineParts(path, self._cutter, group_bytes)

    def row_groups(self, split: ScanSplit) -> Sequence[int]:
        """Return numbers of parts of the split."""
        return self._parts.row_groups(split)

    def may_match(self, groups: Sequence[int], conjuncts: Sequence[Expr]) -> Sequence[int]:
        """Return all ``groups``: there are no statistics."""
        return groups

    def num_rows(self, group: int) -> int | None:
        """Return None: lines may have any number of rows."""
        return None

    def num_bytes(self, group: int) -> int:
        """Return the bytes of the part."""
        return self._parts.num_bytes(group)

    def chunks(self, group: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the lines that belong to the part; raise OSError for a line that fails the read."""
        for text in self._parts.texts(group):
            columns, is_bad = self._parser.rows(self._cutter.lines(text))
            yield from chunks_by_mode(columns, is_bad, self._mode, batch_rows)

    def close(self) -> None:
        """Do nothing: a file is open only while a row group is read."""
