"""Edge-case values by Spark type: limits, NaN, ±0, NULL, odd strings, dates before 1582."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

NAN, INF = float("nan"), float("inf")


def date(text: str) -> int:
    """Return the days since 1970-01-01 of an ISO date (proleptic Gregorian)."""
    return (datetime.date.fromisoformat(text) - datetime.date(1970, 1, 1)).days


def moment(text: str) -> int:
    """Return the microseconds since 1970-01-01T00:00:00 of an ISO date-time."""
    return (datetime.datetime.fromisoformat(text) - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)


TINYINTS = [0, 1, -1, None, 127, -128, 7, 100, -100]
SMALLINTS = [0, 1, -1, 32767, None, -32768, 300, -7]
INTS = [0, 1, -1, 2147483647, -2147483648, None, 46341, -13, 65536, 1000000]
LONGS = [0, 1, -1, 9223372036854775807, -9223372036854775808, None, 3037000500, 42, -42, 9007199254740993, 2147483648]
FLOATS = [0.0, -0.0, 1.5, NAN, INF, -INF, None, 3.4028234663852886e38, 1.401298464324817e-45, -2.25, 0.1, 16777217.0]
DOUBLES = [0.0, -0.0, NAN, 1.5, INF, -INF, None, 1.7976931348623157e308, 5e-324, -2.5, 0.1, 9.2e18, -1e-5]
DECIMALS_9_2 = ["0.00", "1.00", "-1.00", "9999999.99", None, "-9999999.99", "0.01", "0.05", "-0.05", "12.34", "2.50"]
DECIMALS_18_4 = ["0.0000", "99999999999999.9999", None, "-99999999999999.9999", "0.0001", "1.0000", "-7.1234", "0.3333"]
DECIMALS_38_10 = [
    "0.0000000000",
    "9999999999999999999999999999.9999999999",
    "-9999999999999999999999999999.9999999999",
    "1.0000000000",
    None,
    "0.0000000001",
    "-3.1415926536",
    "12345678901234567890.0000000005",
]
DECIMALS_38_0 = ["0", "9" * 38, "1", None, "-" + "9" * 38, "17"]
BOOLEANS = [True, False, None, True, False]
DATES = [
    "1970-01-01", "1969-12-31", None, "2000-02-29", "1900-02-28", "1582-10-04", "1582-10-15", "1582-10-10",
    "0001-01-01", "9999-12-31", "2024-02-29", "2023-12-31", "1000-06-15", "2011-11-06", "1986-01-01",
]
MOMENTS = [
    "1970-01-01T00:00:00", "1969-12-31T23:59:59.999999", None, "2000-02-29T12:34:56.789", "2011-03-13T00:01:30",
    "2011-11-06T00:00:30", "2011-11-06T03:31:00", "1986-01-01T00:10:00", "1985-12-31T18:30:00", "1883-11-18T12:00:00",
    "1582-10-04T12:00:00", "1582-10-15T00:00:00", "0002-01-02T00:00:00", "9999-12-30T23:59:59.999999",
    "2024-12-31T18:15:00", "2024-01-01T02:29:59.999999", "2024-01-01T03:30:00", "1900-01-01T00:00:00.000001",
]
STRINGS = [
    "", " ", "a", "A", "abc", "ABC", None, "a b", "abc ", " abc", "é", "e\u0301", "ß", "日本語", "😀", "👨‍👩‍👧", "a😀b",
    "%", "_", "a%c", "a_c", "\\", "a\\%c", "a\nb", "\t", "\u0000", "zzz", "longer than twelve bytes", "\U0010ffff",
    "null",
]
DATE_STRINGS = [
    "2024-02-29", "2023-02-29", "2024-2-9", "2024", "2024-13-01", "", None, " 2024-01-01 ", "2024-01-01T10:00:00",
    "2024-01-01 junk", "abc", "0001-01-01", "9999-12-31", "10000-01-01", "-0001-01-01", "+2024-01-01", "2024-06",
    "1582-10-10", "2024-00-10", "2024-01-32", "2024/01/01", "20240101", "epoch",
]
GOOD_DATE_STRINGS = [
    "2024-02-29", "2024-2-9", "2024", " 2024-01-01 ", None, "2024-01-01T10:00:00", "0001-01-01", "2024-06",
]
BYTES = [b"", b"\x00", b"a", b"\xff\xfe", None, b"\x80", "日本".encode(), b"\x7f" * 20]


def cycle(values: Sequence[Any], rows: int, step: int = 1) -> list[Any]:
    """Return ``rows`` repetitions of ``values`` with stride ``step``, so that columns combine in many ways."""
    return [values[(index * step) % len(values)] for index in range(rows)]


def decimals(texts: Sequence[str | None]) -> list[Decimal | None]:
    """Return texts as decimals, NULL kept."""
    return [None if text is None else Decimal(text) for text in texts]


def dates(texts: Sequence[str | None]) -> list[int | None]:
    """Return ISO dates as day numbers, NULL kept."""
    return [None if text is None else date(text) for text in texts]


def moments(texts: Sequence[str | None]) -> list[int | None]:
    """Return ISO date-times as microseconds, NULL kept."""
    return [None if text is None else moment(text) for text in texts]


def column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Build an Arrow array; dates and timestamps are given as integers."""
    if pa.types.is_date(kind):
        return pa.array(values, pa.int32()).cast(kind)
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(pa.timestamp("us")).cast(kind)
    return pa.array(values, kind)
