"""Conversion of the columns of a Parquet file to the columns of a chunk: the match by name, and the cast.

:mod:`parquet_types` decides whether Spark reads one type as the other; this module does it. A column missing in the
file is NULL. An Arrow schema that the writer stored in the file only changes the type that pyarrow returns
(``string_view``, ``large_string``, ``duration``), so these types are converted too.
"""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.errors import CorruptFileError, DuplicateColumnError
from pyspark_pipeline.operators.scan.nested import Convert
from pyspark_pipeline.plan.nodes import Field

_STORED_AS_INT32 = ("int8", "int16", "int32", "uint8", "uint16", "uint32", "date32[day]", "time32[ms]")
_INT32_KINDS = ("tinyint", "smallint", "int", "bigint", "double", "date")
_INT64_KINDS = ("bigint", "interval day to second")
_MICROSECONDS_OF_DAY = 86_400_000_000


def find_column(schema: pa.Schema, field: Field, case_sensitive: bool, path: str) -> int | None:
    """Return the index of the file's column for ``field``, None if it has none.

    As in Spark, the first of several columns of exactly that name is read if they have one type and case counts.
    Raises :class:`CorruptFileError` if the file has several columns of the name otherwise,
    :class:`DuplicateColumnError` if case does not count.
    """
    if case_sensitive:
        places = schema.get_all_field_indices(field.name)
    else:
        wanted = field.name.lower()
        places = [i for i, name in enumerate(schema.names) if name.lower() == wanted]
    if len(places) > 1 and not (case_sensitive and len({schema.field(i).type for i in places}) == 1):
        names = tuple(schema.names[i] for i in places)
        how = "of different types" if case_sensitive else "when case does not count"
        message = f"{path}: more than one column is named {field.name} {how}: {', '.join(names)}"
        if case_sensitive:
            raise CorruptFileError(message, path)
        raise DuplicateColumnError(message, path, field.name, names)
    return places[0] if places else None


def converter(stored: pa.DataType, wanted: DataType, *, int96: bool) -> Convert | None:
    """Return the function that converts a column read as ``stored`` to a chunk column of type ``wanted``.

    ``wanted`` is a type as which Spark reads the column (:func:`~.types.spark_reads`). Return None if pyarrow's
    values do not determine the stored ones, so that the column must be read without its logical type. ``int96`` means
    that timestamps were stored as INT96.
    """
    return _converter(stored, wanted, int96)


@lru_cache(maxsize=4096)
def _converter(stored: pa.DataType, wanted: DataType, int96: bool) -> Convert | None:
    if isinstance(stored, pa.BaseExtensionType):
        inner = _converter(stored.storage_type, wanted, int96)
        return inner and (lambda column: inner(column.storage))
    if pa.types.is_null(stored):
        return lambda column: pa.nulls(len(column), wanted.arrow)
    if pa.types.is_timestamp(stored):
        return _timestamp_converter(stored, wanted, int96)
    if pa.types.is_decimal(stored):
        return _cast(wanted) if wanted.is_decimal else None
    if wanted.kind in ("string", "binary"):
        return _bytes_converter(stored, wanted)
    if stored == wanted.arrow and wanted.kind != "time":
        return _as_it_is
    if str(stored) in _STORED_AS_INT32 and wanted.kind in _INT32_KINDS:
        return _int32_converter(stored, wanted)
    if wanted.kind == "time":
        return _time_converter(wanted) if pa.types.is_time64(stored) else None
    if wanted.kind in _INT64_KINDS and _is_stored_as_int64(stored):
        return lambda column: column.view(pa.int64())
    if pa.types.is_duration(stored) and wanted.is_decimal:
        return lambda column: pc.cast(column.view(pa.int64()), wanted.arrow)
    is_plain = pa.types.is_integer(stored) and wanted.is_decimal
    is_wider = stored == pa.float32() and wanted.kind == "double"
    is_day = stored == pa.date32() and wanted.kind == "timestamp_ntz"
    return _cast(wanted) if is_plain or is_wider or is_day else None


def _is_stored_as_int64(stored: pa.DataType) -> bool:
    return bool(stored == pa.uint64() or pa.types.is_time64(stored) or pa.types.is_duration(stored))


def _as_it_is(column: pa.Array) -> pa.Array:
    return column


def _time_converter(wanted: DataType) -> Convert:
    """Return the converter of times of day to nanoseconds, without the digits that ``wanted`` does not have."""
    unit = 10 ** (9 - wanted.precision)
    return lambda column: pc.multiply(pc.divide(_as_nanoseconds(column), unit), unit)


def _as_nanoseconds(column: pa.Array) -> pa.Array:
    numbers = column.view(pa.int64())
    return numbers if column.type.unit == "ns" else pc.multiply_checked(numbers, 1000)


def time_of_microseconds(column: pa.Array) -> pa.Array:
    """Return the nanoseconds of numbers of microseconds; raise ``ArrowInvalid`` for one that is no time of day."""
    if len(column) > column.null_count:
        bounds = pc.min_max(column)
        least, largest = bounds["min"].as_py(), bounds["max"].as_py()
        if least < 0 or largest >= _MICROSECONDS_OF_DAY:
            wrong = least if least < 0 else largest
            raise pa.ArrowInvalid(f"{wrong} microseconds are no time of day")
    return pc.multiply(column, 1000)


def _cast(wanted: DataType) -> Convert:
    target = wanted.arrow
    return lambda column: column if column.type == target else pc.cast(column, target)


def _int32_converter(stored: pa.DataType, wanted: DataType) -> Convert:
    """Return the converter of an INT32: the stored integer, its low bytes (tinyint, smallint) or UINT_32 (bigint)."""
    if stored == pa.uint32() and wanted.kind == "bigint":
        return _cast(wanted)
    target = wanted.arrow
    if wanted.kind == "date":
        return lambda column: _as_int32(column).view(target)
    return lambda column: pc.cast(_as_int32(column), target, safe=False)


def _as_int32(column: pa.Array) -> pa.Array:
    return column.view(pa.int32()) if column.type.bit_width == 32 else pc.cast(column, pa.int32())


def _bytes_converter(stored: pa.DataType, wanted: DataType) -> Convert | None:
    """Return the converter between strings and bytes, unchecked as in Spark; strings may stay dictionary encoded."""
    target = wanted.arrow
    options = pc.CastOptions(target, allow_invalid_utf8=True)
    if pa.types.is_dictionary(stored):
        kept = pa.dictionary(pa.int32(), target) if wanted.kind == "string" else None
        return lambda column: column if column.type == kept else pc.cast(column.dictionary_decode(), options=options)
    if pa.types.is_string(stored) or pa.types.is_binary(stored) or _is_other_text(stored):
        return lambda column: column if column.type == target else pc.cast(column, options=options)
    return None


def _is_other_text(stored: pa.DataType) -> bool:
    others = (pa.large_string(), pa.large_binary(), pa.string_view(), pa.binary_view())
    return stored in others or pa.types.is_fixed_size_binary(stored)


def _timestamp_converter(stored: pa.DataType, wanted: DataType, int96: bool) -> Convert | None:
    """Return the converter of a timestamp, with or without time zone as in Spark; to bigint: the stored number."""
    if wanted.kind == "bigint":
        return lambda column: column.view(pa.int64())
    if wanted.kind not in ("timestamp", "timestamp_ntz") or (stored.unit == "ns" and not int96):
        return None
    target = wanted.arrow
    unit_only = pa.timestamp("us", tz=stored.tz)
    return lambda column: column if column.type == target else column.cast(unit_only).view(target)
