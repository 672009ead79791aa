"""The types as which Spark's vectorized reader reads a Parquet column: ``ParquetVectorUpdaterFactory.getUpdater``.

The physical type decides first, the logical type second. Some pairs look odd but are Spark's rules: an INT32 is read as
tinyint (the low byte), date or double whatever its logical type, an INT64 as bigint, a BINARY as string or binary.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow.parquet as pq

from pyspark_pipeline.datatypes import DataType

_DIGITS = {"INT32": 10, "INT64": 20}
_UINT64 = (20, 0)


@dataclass(frozen=True, slots=True)
class StoredType:
    """The type of a Parquet column: ``physical`` in parquet-mr's spelling, and its logical type."""

    physical: str
    logical: str = "None"
    precision: int = 0
    scale: int = 0
    bits: int = 0
    signed: bool = True
    unit: str = ""


def stored_type(column: pq.ColumnSchema) -> StoredType:
    """Return the type of a footer's column; parquet-mr writes INTERVAL together with the logical type UNKNOWN."""
    if column.physical_type == "FIXED_LEN_BYTE_ARRAY" and column.logical_type.type == "UNKNOWN":
        return StoredType(column.physical_type, "Interval")
    return _stored_type(column.physical_type, column.logical_type.to_json())


@lru_cache(maxsize=1024)
def _stored_type(physical: str, logical: str) -> StoredType:
    said: Mapping[str, Any] = json.loads(logical)
    return StoredType(
        "BINARY" if physical == "BYTE_ARRAY" else physical,
        said["Type"],
        said.get("precision", 0),
        said.get("scale", 0),
        said.get("bitWidth", 0),
        said.get("isSigned", True),
        said.get("timeUnit", ""),
    )


def spark_reads(stored: StoredType, wanted: DataType, exact_times: bool = True) -> bool:
    """Return whether Spark reads a column of type ``stored`` as ``wanted``; if not, Spark raises a mismatch.

    Without ``exact_times`` (Spark 4.1) every INT64 is read as a time of day in microseconds, whatever number it is.
    """
    if wanted.kind == "void":
        return stored.logical == "Null"
    if wanted.kind == "time" and not exact_times:
        return stored.physical == "INT64"
    if wanted.is_decimal and _reads_decimal(stored, wanted):
        return True
    rule = _RULES.get((stored.physical, wanted.kind))
    return rule is not None and rule(stored)


def _reads_decimal(stored: StoredType, wanted: DataType) -> bool:
    """Return whether ``wanted`` widens the decimal, or holds all integers of the type (``isDecimalTypeMatched``)."""
    if stored.physical not in ("INT32", "INT64", "BINARY", "FIXED_LEN_BYTE_ARRAY"):
        return False
    if stored.logical == "Decimal":
        more_scale = wanted.scale - stored.scale
        return more_scale >= 0 and wanted.precision - stored.precision >= more_scale
    if stored.logical == "None" or (stored.logical == "Int" and stored.signed):
        return wanted.precision - wanted.scale >= _DIGITS.get(stored.physical, 99)
    is_uint64 = stored.physical == "INT64" and stored.logical == "Int" and stored.bits == 64
    return is_uint64 and (wanted.precision, wanted.scale) == _UINT64


def _always(_stored: StoredType) -> bool:
    return True


def _is_micros_or_millis(stored: StoredType) -> bool:
    return stored.logical == "Timestamp" and stored.unit in ("microseconds", "milliseconds")


_RULES: Mapping[tuple[str, str], Callable[[StoredType], bool]] = {
    ("BOOLEAN", "boolean"): _always,
    **{("INT32", kind): _always for kind in ("tinyint", "smallint", "int", "bigint", "double", "date")},
    ("INT32", "timestamp_ntz"): lambda stored: stored.logical == "Date",
    ("INT32", "interval year to month"): _always,
    ("INT64", "bigint"): _always,
    ("INT64", "interval day to second"): _always,
    ("INT64", "time"): lambda stored: stored.logical == "Time",
    ("INT64", "timestamp"): _is_micros_or_millis,
    ("INT64", "timestamp_ntz"): _is_micros_or_millis,
    ("INT96", "timestamp"): _always,
    ("INT96", "timestamp_ntz"): _always,
    ("FLOAT", "float"): _always,
    ("FLOAT", "double"): _always,
    ("DOUBLE", "double"): _always,
    ("BINARY", "string"): _always,
    ("BINARY", "binary"): _always,
    ("FIXED_LEN_BYTE_ARRAY", "binary"): _always,
}
