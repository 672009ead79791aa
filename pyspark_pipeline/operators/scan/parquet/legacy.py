"""Dates and timestamps that old Spark wrote in the hybrid Julian calendar, rebased as in Spark.

Spark identifies these files by ``DataSourceUtils.datetimeRebaseSpec`` and ``int96RebaseSpec``, and rebases their values
by ``RebaseDateTime``. A value keeps its local date and time. Values from 1582-10-15 on (timestamps: from 1900 on) do
not change, and a column of only such values is not copied. ``timestamp_ntz`` was introduced after that calendar.

Spark does not rebase all dictionary values of an INT32 that is no date in the file and is read as one, but only those
of pages that span its batches; the engine rebases only files without such dictionaries and raises for the others.

Spark computes timestamps of years before 0001, and all in a zone missing in its table, with Java's calendars and the
JVM's time zone rules. The engine supports these only in UTC and raises for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.errors import CorruptFileError
from pyspark_pipeline.kernels import julian
from pyspark_pipeline.kernels.arrays import Int64Array
from pyspark_pipeline.kernels.buffers import values
from pyspark_pipeline.operators.scan.parquet.columns import Convert
from pyspark_pipeline.operators.scan.parquet.rebase_table import rebase_table
from pyspark_pipeline.plan.nodes import ExecutorCalendar, Field

_VERSION = b"org.apache.spark.version"
_LEGACY = b"org.apache.spark.legacyDateTime"
_LEGACY_INT96 = b"org.apache.spark.legacyINT96"
_TIME_ZONE = b"org.apache.spark.timeZone"
_FIRST_MICROSECOND = -2208988800000000
_DAY_US = 86_400_000_000
_UTC = ("UTC", "GMT", "Etc/UTC", "Etc/GMT", "Z")


class LegacyCalendar:
    """The rebase rules of one file: whether its dates, timestamps and INT96 timestamps are in the hybrid calendar."""

    def __init__(
        self, path: str, metadata: Mapping[bytes, bytes] | None, executor: ExecutorCalendar | None = None
    ) -> None:
        known = metadata or {}
        zone = known.get(_TIME_ZONE)
        self._path = path
        self._executor = executor or ExecutorCalendar()
        self._time_zone = self._executor.time_zone if zone is None else zone.decode()
        self._dates = _is_old(known, b"3.0.0", _LEGACY)
        self._int96 = _is_old(known, b"3.1.0", _LEGACY_INT96)

    def with_rebase(
        self, convert: Convert, stored: pa.DataType, field: Field, *, int96: bool, has_dictionary: bool = False
    ) -> Convert:
        """Return ``convert``, which converts a column ``stored`` to ``field``, extended by the rebase of the file.

        ``has_dictionary``: whether a row group has a dictionary of the column. The returned function raises
        :class:`CorruptFileError` for a value that Spark rebases and the engine cannot.
        """
        if self._dates and field.type.kind == "date" and has_dictionary and not pa.types.is_date32(stored):
            return lambda column: self._dates_without_rebase(convert(column), field.name)
        if self._dates and field.type.kind == "date":
            return lambda column: _rebased_dates(convert(column))
        if self._dates and field.type.kind == "timestamp_ntz" and pa.types.is_date32(stored):
            return lambda column: convert(_rebased_dates(column))
        if field.type.kind == "timestamp" and (self._int96 if int96 else self._dates):
            return lambda column: self._rebased_timestamps(convert(column), field.name)
        return convert

    def may_rebase(self, stored: pa.DataType, field: Field, least: int) -> bool:
        """Return whether the rebase may change values of a column from ``least`` on (days or microseconds)."""
        if not self._dates:
            return False
        if pa.types.is_date32(stored):
            return least < julian.FIRST_DAY
        return field.type.kind == "timestamp" and least < _FIRST_MICROSECOND

    def _dates_without_rebase(self, column: pa.Array, name: str) -> pa.Array:
        oldest = _oldest(column)
        if oldest is None or oldest >= julian.FIRST_DAY:
            return column
        raise CorruptFileError(
            f"{self._path}: column {name} holds integers of days before 1582-10-15 with a dictionary, of which Spark "
            "rebases some and others not; leave this scan to Spark",
            self._path,
        )

    def _rebased_timestamps(self, column: pa.Array, name: str) -> pa.Array:
        oldest = _oldest(column)
        if oldest is None or oldest >= _FIRST_MICROSECOND:
            return column
        zone = self._time_zone or "unknown"
        if _is_utc(zone):
            return _shifted(column, _between_in_utc)
        known = rebase_table(self._executor.table or "").get(zone)
        if known is None or oldest < known.switches[0]:
            raise CorruptFileError(
                f"{self._path}: column {name} holds timestamps before {1900 if known is None else 'the year 1'} that "
                f"an old Spark wrote in the Julian calendar of time zone {zone} and the engine cannot rebase; "
                "leave this scan to Spark, which rebases them",
                self._path,
            )
        return _shifted(column, known.between)


def _rebased_dates(column: pa.Array) -> pa.Array:
    oldest = _oldest(column)
    return column if oldest is None or oldest >= julian.FIRST_DAY else _shifted(column, julian.rebase_differences)


def _is_old(metadata: Mapping[bytes, bytes], since: bytes, key: bytes) -> bool:
    """Return whether Spark wrote the file, in a version below ``since`` (text order: Spark's rule) or with ``key``."""
    version = metadata.get(_VERSION)
    return version is not None and (version < since or key in metadata)


def _is_utc(zone: str) -> bool:
    """Return whether Java's ``TimeZone`` maps the name to UTC, as it does for unparsable names such as +05:30."""
    return zone in _UTC or zone.startswith(("+", "-"))


def _between_in_utc(micros: Int64Array) -> Int64Array:
    return julian.rebase_differences(micros // _DAY_US) * _DAY_US


def _numbers(column: pa.Array) -> pa.Array:
    """View days and microseconds as integers."""
    return column.view(pa.int32() if pa.types.is_date32(column.type) else pa.int64())


def _oldest(column: pa.Array) -> int | None:
    least: int | None = pc.min(_numbers(column)).as_py()
    return least


def _shifted(column: pa.Array, between: Callable[[Int64Array], Int64Array]) -> pa.Array:
    """Add the difference that ``between`` returns to each value."""
    numbers = values(column)
    added = between(numbers.astype(np.int64, copy=False)).astype(numbers.dtype, copy=False)
    return pc.add(_numbers(column), pa.array(added)).view(column.type)
