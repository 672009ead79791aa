"""JSON files as Spark's ``json`` source reads them: a document in each line, a row for each object."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pyspark_pipeline.datatypes.types import NESTED_KINDS
from pyspark_pipeline.operators.scan.formats import RequiredSetting, reads_format
from pyspark_pipeline.operators.scan.json.options import JsonOptions
from pyspark_pipeline.operators.scan.json.records import LineParser
from pyspark_pipeline.operators.scan.line_parts import FLAT_KINDS, GROUP_BYTES, LineFileReader
from pyspark_pipeline.operators.scan.malformed import chunks_by_mode
from pyspark_pipeline.operators.scan.reader import FileReader, ReadRequest


@reads_format(
    "json",
    label="JSON",
    types=(*FLAT_KINDS, *NESTED_KINDS),
    settings=[
        RequiredSetting(conf="spark.sql.json.enablePartialResults", value="true"),
        RequiredSetting(conf="spark.sql.json.enableExactStringParsing", value="true"),
        RequiredSetting(conf="spark.sql.legacy.json.allowEmptyString.enabled", value="false"),
    ],
)
def open_json(path: str, request: ReadRequest) -> FileReader:
    """Open a file; the options are those of :class:`JsonOptions`."""
    return JsonFileReader(path, request, JsonOptions.of(request.options))


class JsonFileReader(LineFileReader):
    """Reads the file at a local path."""

    def __init__(
        self, path: str, request: ReadRequest, options: JsonOptions, group_bytes: int = GROUP_BYTES
    ) -> None:
        self._mode = options.mode
        self._parser = LineParser(request, options)
        super().__init__(path, options.separator, group_bytes)

    def chunks(self, group: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the lines that belong to the part; raise OSError for a line that fails the read."""
        for text in self._parts.texts(group):
            columns, is_bad = self._parser.rows(self._cutter.lines(text))
            yield from chunks_by_mode(columns, is_bad, self._mode, batch_rows)
