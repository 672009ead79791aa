"""Dates and timestamps that old Spark wrote in the hybrid Julian calendar, rebased as in Spark.

Spark identifies these files by ``DataSourceUtils.datetimeRebaseSpec`` and ``int96RebaseSpec``, and rebases their values
by ``RebaseDateTime`` (:mod:`pyspark_pipeline.operators.scan.hybrid_calendar`). ``timestamp_ntz`` was introduced after
that calendar.

Spark does not rebase all dictionary values of an INT32 that is no date in the file and is read as one, but only those
of pages that span its batches; the engine rebases only files without such dictionaries and raises for the others.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from pyspark_pipeline.errors import CorruptFileError
from pyspark_pipeline.kernels import julian
from pyspark_pipeline.operators.scan.hybrid_calendar import FIRST_MICROSECOND, oldest, rebased_dates, rebased_timestamps
from pyspark_pipeline.operators.scan.nested import Convert
from pyspark_pipeline.plan.nodes import ExecutorCalendar, Field

_VERSION = b"org.apache.spark.version"
_LEGACY = b"org.apache.spark.legacyDateTime"
_LEGACY_INT96 = b"org.apache.spark.legacyINT96"
_TIME_ZONE = b"org.apache.spark.timeZone"


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
            return lambda column: rebased_dates(convert(column))
        if self._dates and field.type.kind == "timestamp_ntz" and pa.types.is_date32(stored):
            return lambda column: convert(rebased_dates(column))
        if field.type.kind == "timestamp" and (self._int96 if int96 else self._dates):
            zone, table = self._time_zone, self._executor.table
            place = f"column {field.name}"
            return lambda column: rebased_timestamps(convert(column), zone, table, place, self._path)
        return convert

    def may_rebase(self, stored: pa.DataType, field: Field, least: int) -> bool:
        """Return whether the rebase may change values of a column from ``least`` on (days or microseconds)."""
        if not self._dates:
            return False
        if pa.types.is_date32(stored):
            return least < julian.FIRST_DAY
        return field.type.kind == "timestamp" and least < FIRST_MICROSECOND

    def _dates_without_rebase(self, column: pa.Array, name: str) -> pa.Array:
        least = oldest(column)
        if least is None or least >= julian.FIRST_DAY:
            return column
        raise CorruptFileError(
            f"{self._path}: column {name} holds integers of days before 1582-10-15 with a dictionary, of which Spark "
            "rebases some and others not; leave this scan to Spark",
            self._path,
        )


def _is_old(metadata: Mapping[bytes, bytes], since: bytes, key: bytes) -> bool:
    """Return whether Spark wrote the file, in a version below ``since`` (text order: Spark's rule) or with ``key``."""
    version = metadata.get(_VERSION)
    return version is not None and (version < since or key in metadata)
