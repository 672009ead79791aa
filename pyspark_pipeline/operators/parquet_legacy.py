"""Dates and timestamps that Spark 2 wrote in the hybrid Julian calendar: recognised, and refused where they are old.

Spark rebases such values (``DataSourceUtils.datetimeRebaseSpec``); the engine says so instead of giving
another day. Values from the switch on are the same in both calendars.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.errors import CorruptFileError

_VERSION = b"org.apache.spark.version"
_LEGACY = b"org.apache.spark.legacyDateTime"
_LEGACY_INT96 = b"org.apache.spark.legacyINT96"
_FIRST_DAY = -141427
_FIRST_MICROSECOND = -2208988800000000


class LegacyCalendar:
    """Says of one file whether its dates, timestamps and INT96 timestamps are in the old calendar."""

    def __init__(self, path: str, metadata: Mapping[bytes, bytes] | None) -> None:
        known = metadata or {}
        version = known.get(_VERSION, b"").decode()
        self._path = path
        self.dates = _LEGACY in known or (bool(version) and _before(version, (3, 0)))
        self.int96 = _LEGACY_INT96 in known or (bool(version) and _before(version, (3, 1)))

    def check(self, column: pa.Array, name: str, *, int96: bool) -> None:
        """Raise :class:`CorruptFileError` where the column holds a value that would have to be rebased."""
        if pa.types.is_date32(column.type):
            legacy, least, plain = self.dates, _FIRST_DAY, pa.int32()
        elif pa.types.is_timestamp(column.type):
            legacy, least, plain = (self.int96 if int96 else self.dates), _FIRST_MICROSECOND, pa.int64()
        else:
            return
        if not legacy:
            return
        oldest = pc.min(column.view(plain)).as_py()
        if oldest is not None and oldest < least:
            raise CorruptFileError(
                f"{self._path}: column {name} holds dates before the Gregorian calendar (or timestamps before 1900) "
                "written by an old Spark in the Julian calendar; leave this scan to Spark, which rebases them"
            )


def _before(version: str, than: tuple[int, int]) -> bool:
    parts = version.split(".")
    try:
        return (int(parts[0]), int(parts[1])) < than
    except (ValueError, IndexError):
        return False
