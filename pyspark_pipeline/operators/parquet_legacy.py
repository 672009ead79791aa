"""Dates and timestamps that old Spark wrote in the hybrid Julian calendar, read as Spark reads them.

Which files these are: ``DataSourceUtils.datetimeRebaseSpec`` and ``int96RebaseSpec``. What their values become:
``RebaseDateTime``. A value keeps its local date and time. Those from 1582-10-15 on (timestamps: from 1900 on)
stay as they are, and a column of such values alone is not copied. ``timestamp_ntz`` is newer than that calendar.

Spark computes timestamps of years before 0001, and all in a zone that its table lacks, with Java's calendars and
the JVM's time zone rules. The engine has these only where they are simple (UTC) and refuses the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.errors import CorruptFileError
from pyspark_pipeline.kernels import julian
from pyspark_pipeline.kernels.buffers import Array, values
from pyspark_pipeline.operators.parquet_columns import Convert
from pyspark_pipeline.operators.rebase_table import rebase_table
from pyspark_pipeline.plan.nodes import ExecutorCalendar, Field

_VERSION = b"org.apache.spark.version"
_LEGACY = b"org.apache.spark.legacyDateTime"
_LEGACY_INT96 = b"org.apache.spark.legacyINT96"
_TIME_ZONE = b"org.apache.spark.timeZone"
_FIRST_MICROSECOND = -2208988800000000
_DAY_US = 86_400_000_000
_UTC = ("UTC", "GMT", "Etc/UTC", "Etc/GMT", "Z")


class LegacyCalendar:
    """Knows of one file whether its dates, timestamps and INT96 timestamps are in the old calendar."""

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

    def rebasing(self, convert: Convert, stored: pa.DataType, field: Field, *, int96: bool) -> Convert:
        """Give ``convert``, which reads a column ``stored`` as ``field``, with the rebase that the file needs.

        The function raises :class:`CorruptFileError` for a value that Spark rebases and the engine cannot.
        """
        if pa.types.is_date32(stored) and self._dates:
            return lambda column: convert(_rebased_dates(column))
        if field.type.kind == "timestamp" and (self._int96 if int96 else self._dates):
            return lambda column: self._rebased_timestamps(convert(column), field.name)
        return convert

    def may_move(self, stored: pa.DataType, least: int) -> bool:
        """Say whether values of a column from ``least`` on (days or microseconds) may be others after the rebase."""
        if not self._dates:
            return False
        if pa.types.is_date32(stored):
            return least < julian.FIRST_DAY
        return bool(pa.types.is_timestamp(stored) and stored.tz is not None and least < _FIRST_MICROSECOND)

    def _rebased_timestamps(self, column: pa.Array, name: str) -> pa.Array:
        oldest = _oldest(column)
        if oldest is None or oldest >= _FIRST_MICROSECOND:
            return column
        zone = self._time_zone or "unknown"
        if _is_utc(zone):
            return _moved(column, _between_in_utc)
        known = rebase_table(self._executor.table or "").get(zone)
        if known is None or oldest < known.switches[0]:
            raise CorruptFileError(
                f"{self._path}: column {name} holds timestamps before {1900 if known is None else 'the year 1'} that "
                f"an old Spark wrote in the Julian calendar of time zone {zone} and the engine cannot rebase; "
                "leave this scan to Spark, which rebases them"
            )
        return _moved(column, known.between)


def _rebased_dates(column: pa.Array) -> pa.Array:
    oldest = _oldest(column)
    return column if oldest is None or oldest >= julian.FIRST_DAY else _moved(column, julian.days_between)


def _is_old(metadata: Mapping[bytes, bytes], since: bytes, mark: bytes) -> bool:
    """Say whether Spark wrote the file, in a version below ``since`` (as text: Spark's rule) or with the ``mark``."""
    version = metadata.get(_VERSION)
    return version is not None and (version < since or mark in metadata)


def _is_utc(zone: str) -> bool:
    """Say whether Java's ``TimeZone`` makes UTC of the name, as it does of each that it cannot read, such as +05:30."""
    return zone in _UTC or zone.startswith(("+", "-"))


def _between_in_utc(micros: Array) -> Array:
    return julian.days_between(micros // _DAY_US) * _DAY_US


def _numbers(column: pa.Array) -> pa.Array:
    """View days and microseconds as integers."""
    return column.view(pa.int32() if pa.types.is_date32(column.type) else pa.int64())


def _oldest(column: pa.Array) -> int | None:
    least: int | None = pc.min(_numbers(column)).as_py()
    return least


def _moved(column: pa.Array, between: Callable[[Array], Array]) -> pa.Array:
    """Add to each value what ``between`` says of it."""
    numbers = values(column)
    added = between(numbers.astype(np.int64, copy=False)).astype(numbers.dtype, copy=False)
    return pc.add(_numbers(column), pa.array(added)).view(column.type)
