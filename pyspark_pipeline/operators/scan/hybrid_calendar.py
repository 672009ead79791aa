"""The rebase of dates and timestamps of a file from the hybrid Julian calendar, as Spark's ``RebaseDateTime`` does it.

A value keeps its local date and time. Values from 1582-10-15 on (timestamps: from 1900 on) do not change, and a column
of only such values is not copied.

Spark computes timestamps of years before 0001, and all in a zone missing in its table, with Java's calendars and the
JVM's time zone rules. The engine supports these only in UTC and raises for the others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.errors import CorruptFileError
from pyspark_pipeline.kernels import julian
from pyspark_pipeline.kernels.arrays import Int64Array
from pyspark_pipeline.kernels.buffers import values
from pyspark_pipeline.operators.scan.rebase_table import rebase_table

FIRST_MICROSECOND = -2208988800000000
"""The first microsecond of 1900 in UTC."""

_DAY_US = 86_400_000_000
_UTC = ("UTC", "GMT", "Etc/UTC", "Etc/GMT", "Z")


def rebased_dates(column: pa.Array) -> pa.Array:
    """Return the dates of the hybrid calendar as Spark's."""
    least = oldest(column)
    return column if least is None or least >= julian.FIRST_DAY else _shifted(column, julian.rebase_differences)


def rebased_timestamps(column: pa.Array, time_zone: str | None, table: str | None, place: str, path: str) -> pa.Array:
    """Return the timestamps of the hybrid calendar of ``time_zone`` as Spark's; ``table`` is Spark's table of rebases.

    Raises :class:`CorruptFileError` for a value that Spark rebases and the engine cannot; its message names ``place``.
    """
    least = oldest(column)
    if least is None or least >= FIRST_MICROSECOND:
        return column
    zone = time_zone or "unknown"
    if _is_utc(zone):
        return _shifted(column, _between_in_utc)
    known = rebase_table(table or "").get(zone)
    if known is None or least < known.switches[0]:
        raise CorruptFileError(
            f"{path}: {place} holds timestamps before {1900 if known is None else 'the year 1'} in the Julian calendar "
            f"of time zone {zone} and the engine cannot rebase them; leave this scan to Spark, which rebases them",
            path,
        )
    return _shifted(column, known.between)


def oldest(column: pa.Array) -> int | None:
    """Return the least number of days or microseconds in a column; None without values."""
    least: int | None = pc.min(_numbers(column)).as_py()
    return least


def _is_utc(zone: str) -> bool:
    """Return whether Java's ``TimeZone`` maps the name to UTC, as it does for unparsable names such as +05:30."""
    return zone in _UTC or zone.startswith(("+", "-"))


def _between_in_utc(micros: Int64Array) -> Int64Array:
    return julian.rebase_differences(micros // _DAY_US) * _DAY_US


def _numbers(column: pa.Array) -> pa.Array:
    """View days and microseconds as integers."""
    return column.view(pa.int32() if pa.types.is_date32(column.type) else pa.int64())


def _shifted(column: pa.Array, between: Callable[[Int64Array], Int64Array]) -> pa.Array:
    """Add the difference that ``between`` returns to each value."""
    numbers = values(column)
    added = between(numbers.astype(np.int64, copy=False)).astype(numbers.dtype, copy=False)
    return pc.add(_numbers(column), pa.array(added)).view(column.type)
