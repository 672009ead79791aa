"""How a column of a Parquet file becomes a column of a chunk: by name, by type, or not at all.

The rules are those of Spark's vectorised reader (``ParquetVectorUpdaterFactory``): a type may widen where
every value keeps its meaning; a column the file lacks is NULL; anything else is an error that names the
file and the column. Whatever Arrow schema a writer stored beside the file only changes what the bytes look
like on arrival (``string_view``, ``large_string``), so it is converted too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.errors import CorruptFileError
from pyspark_pipeline.plan.nodes import Field

Convert = Callable[[pa.Array], pa.Array]

_WIDENS: dict[str, tuple[str, ...]] = {
    "int8": ("tinyint", "smallint", "int", "bigint", "double"),
    "int16": ("smallint", "int", "bigint", "double"),
    "int32": ("int", "bigint", "double"),
    "int64": ("bigint",),
    "uint8": ("smallint", "int", "bigint"),
    "uint16": ("int", "bigint"),
    "uint32": ("bigint",),
    "float": ("float", "double"),
    "double": ("double",),
    "bool": ("boolean",),
    "date32[day]": ("date", "timestamp_ntz"),
    "string": ("string", "binary"),
    "large_string": ("string", "binary"),
    "string_view": ("string", "binary"),
    "binary": ("binary", "string"),
    "large_binary": ("binary", "string"),
    "binary_view": ("binary", "string"),
}
_TEXT = ("string", "binary")


def find_column(schema: pa.Schema, field: Field, case_sensitive: bool, path: str) -> int | None:
    """Give the place of the file's column for ``field``, None where it has none.

    Raises :class:`CorruptFileError` where two columns have the name when case does not count.
    """
    if case_sensitive:
        places = [i for i, name in enumerate(schema.names) if name == field.name]
    else:
        wanted = field.name.lower()
        places = [i for i, name in enumerate(schema.names) if name.lower() == wanted]
    if len(places) > 1:
        names = ", ".join(schema.names[i] for i in places)
        raise CorruptFileError(f"{path}: more than one column is named {field.name} when case does not count: {names}")
    return places[0] if places else None


def converter(stored: pa.DataType, wanted: DataType, *, int96: bool) -> Convert | None:
    """Give the function that makes a chunk column of type ``wanted`` from a column read as ``stored``.

    None where Spark does not read the one as the other. ``int96`` says that timestamps were stored as INT96,
    which are instants although Arrow gives them no zone.
    """
    return _converter(stored, wanted, int96)


@lru_cache(maxsize=4096)
def _converter(stored: pa.DataType, wanted: DataType, int96: bool) -> Convert | None:
    if pa.types.is_dictionary(stored):
        return _dictionary_converter(stored, wanted)
    if pa.types.is_decimal(stored):
        return _cast(wanted) if _decimal_widens(stored, wanted) else None
    if pa.types.is_timestamp(stored):
        return _timestamp_converter(stored, wanted, int96)
    if wanted.is_decimal:
        digits = {"int32": 10, "int64": 20, "uint64": 20}.get(str(stored), 99)
        return _cast(wanted) if wanted.precision - wanted.scale >= digits else None
    if stored == wanted.arrow:
        return _as_it_is
    if wanted.kind not in _WIDENS.get(str(stored), ()):
        return None
    return _text(wanted) if wanted.kind in _TEXT else _cast(wanted)


def _as_it_is(column: pa.Array) -> pa.Array:
    return column


def _cast(wanted: DataType) -> Convert:
    target = wanted.arrow
    return lambda column: column if column.type == target else pc.cast(column, target)


def _text(wanted: DataType) -> Convert:
    """Strings and bytes are taken for each other unseen, as Spark does."""
    target = wanted.arrow
    options = pc.CastOptions(target, allow_invalid_utf8=True)
    return lambda column: pc.cast(column, options=options)


def _dictionary_converter(stored: pa.DataType, wanted: DataType) -> Convert | None:
    if wanted.kind != "string":
        return None
    target = pa.dictionary(pa.int32(), pa.string())
    return lambda column: column if column.type == target else column.dictionary_decode().cast(pa.string())


def _decimal_widens(stored: pa.DataType, wanted: DataType) -> bool:
    if not wanted.is_decimal:
        return False
    more_scale = wanted.scale - stored.scale
    return bool(more_scale >= 0 and wanted.precision - stored.precision >= more_scale)


def _timestamp_converter(stored: pa.DataType, wanted: DataType, int96: bool) -> Convert | None:
    if stored.unit == "ns" and not int96:
        return (lambda column: column.cast(pa.int64())) if wanted.kind == "bigint" else None
    kind = "timestamp" if stored.tz is not None or int96 else "timestamp_ntz"
    if wanted.kind != kind:
        return None
    target = wanted.arrow
    unit_only = pa.timestamp("us", tz=stored.tz)
    return lambda column: column if column.type == target else column.cast(unit_only).view(target)
