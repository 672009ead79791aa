"""The declaration of ORC: the types and settings of Spark for which the reader returns Spark's rows."""

from __future__ import annotations

from pyspark_pipeline.datatypes.types import KINDS, NESTED_KINDS
from pyspark_pipeline.operators.scan.formats import RequiredSetting, reads_format
from pyspark_pipeline.operators.scan.orc.file import OrcFileReader
from pyspark_pipeline.operators.scan.reader import FileReader, ReadRequest

_TYPES = tuple(kind for kind in (*KINDS, *NESTED_KINDS) if kind not in ("void", "time"))
_SETTINGS = (RequiredSetting(conf="spark.sql.orc.enableVectorizedReader", value="true"),)


@reads_format("orc", label="ORC", types=_TYPES, settings=_SETTINGS)
def open_orc(path: str, request: ReadRequest) -> FileReader:
    """Open a file. The options:

    - ``places``: the places of the columns in the schema of the table, for files whose columns have no names;
    - ``byPlace`` (true or false): columns are found by these places whatever their names are;
    - ``base``: the seconds since 1970 from which timestamps count: the start of 2015 in the JVM's time zone.
    """
    return OrcFileReader(path, request)
