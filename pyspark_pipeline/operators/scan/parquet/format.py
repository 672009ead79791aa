"""The declaration of Parquet: the types and settings of Spark for which the reader returns Spark's rows."""

from __future__ import annotations

from pyspark_pipeline.datatypes.types import KINDS, NESTED_KINDS
from pyspark_pipeline.operators.scan.formats import RequiredSetting, reads_format
from pyspark_pipeline.operators.scan.parquet.file import ParquetFileReader
from pyspark_pipeline.operators.scan.reader import FileReader, ReadRequest

_SETTINGS = (
    RequiredSetting(conf="spark.sql.parquet.datetimeRebaseModeInRead", option="datetimeRebaseMode", value="CORRECTED"),
    RequiredSetting(conf="spark.sql.parquet.int96RebaseModeInRead", option="int96RebaseMode", value="CORRECTED"),
    RequiredSetting(conf="spark.sql.parquet.enableVectorizedReader", value="true"),
    RequiredSetting(conf="spark.sql.parquet.fieldId.read.enabled", value="false"),
    RequiredSetting(conf="spark.sql.legacy.parquet.nanosAsLong", value="false"),
    RequiredSetting(conf="spark.sql.parquet.int96TimestampConversion", value="false"),
)


@reads_format("parquet", label="Parquet", types=(*KINDS, *NESTED_KINDS), settings=_SETTINGS)
def open_parquet(path: str, request: ReadRequest) -> FileReader:
    """Open a file; decimals stored as integers are read unscaled if the request allows it for all decimals."""
    columns = request.columns
    decimals = {ordinal for ordinal, column in enumerate(columns) if column.type.is_decimal}
    unscaled = bool(decimals) and decimals <= request.required.unscaled
    unread = request.options.get("unreadEncodings", "").split()
    exact_times = "exactTimes" in request.options
    return ParquetFileReader(
        path,
        columns,
        request.case_sensitive,
        unscaled,
        request.calendar,
        unread,
        exact_times,
        request.tests,
        request.key_tests,
    )
