"""Tables of edge-case values: numbers, texts, times, and grouping keys of every type."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from tests.support import values as v
from tests.support.tables import table, write

_ROWS = 330


def numbers_data(rows: int = _ROWS) -> pa.Table:
    """Return every numeric type, its limits and NULLs, in many combinations; ``id`` is unique and never NULL."""
    columns = {
        "id": v.column(range(rows), pa.int32()),
        "t": v.column(v.cycle(v.TINYINTS, rows), pa.int8()),
        "s": v.column(v.cycle(v.SMALLINTS, rows, 3), pa.int16()),
        "i": v.column(v.cycle(v.INTS, rows, 3), pa.int32()),
        "l": v.column(v.cycle(v.LONGS, rows, 5), pa.int64()),
        "f": v.column(v.cycle(v.FLOATS, rows, 5), pa.float32()),
        "d": v.column(v.cycle(v.DOUBLES, rows, 2), pa.float64()),
        "d2": v.column(v.cycle(v.DOUBLES, rows, 5), pa.float64()),
        "n9": v.column(v.cycle(v.decimals(v.DECIMALS_9_2), rows, 3), pa.decimal128(9, 2)),
        "n18": v.column(v.cycle(v.decimals(v.DECIMALS_18_4), rows, 3), pa.decimal128(18, 4)),
        "n38": v.column(v.cycle(v.decimals(v.DECIMALS_38_10), rows, 5), pa.decimal128(38, 10)),
        "n380": v.column(v.cycle(v.decimals(v.DECIMALS_38_0), rows, 5), pa.decimal128(38, 0)),
        "b": v.column(v.cycle(v.BOOLEANS, rows, 2), pa.bool_()),
        "b2": v.column(v.cycle(v.BOOLEANS[:4], rows, 3), pa.bool_()),
        "nothing": v.column([None] * rows, pa.int32()),
    }
    return pa.table(columns)


@table
def numbers(_spark: SparkSession, folder: Path) -> None:
    write(folder, numbers_data(), files=4)


@table
def tame(_spark: SparkSession, folder: Path) -> None:
    """Small values that violate no ANSI rule, with NULLs, for arithmetic that must succeed in both modes."""
    rows = 211
    data = {
        "id": v.column(range(rows), pa.int32()),
        "t": v.column(v.cycle([1, 2, None, -3, 5], rows), pa.int8()),
        "s": v.column(v.cycle([10, None, -20, 30], rows, 3), pa.int16()),
        "i": v.column(v.cycle([100, -200, 301, None, 7, 11], rows, 5), pa.int32()),
        "l": v.column(v.cycle([10**10, -5, None, 3, 10**12 + 1], rows, 2), pa.int64()),
        "f": v.column(v.cycle([0.5, 1.25, None, -7.75, 0.1], rows), pa.float32()),
        "d": v.column(v.cycle([0.1, -0.2, 3.75, None, 1e10, 7.0], rows, 5), pa.float64()),
        "n9": v.column(v.cycle(v.decimals(["1.25", "-3.10", None, "0.07", "999.99"]), rows), pa.decimal128(9, 2)),
        "n15": v.column(v.cycle(v.decimals(["1.25", None, "-300.10", "88888.07"]), rows, 3), pa.decimal128(15, 2)),
        "n18": v.column(v.cycle(v.decimals(["1.2500", "-3.1003", None, "123456.7891"]), rows), pa.decimal128(18, 4)),
        "n38": v.column(v.cycle(v.decimals(["2.0000000001", None, "-17.5", "3"]), rows, 3), pa.decimal128(38, 10)),
        "z": v.column(v.cycle([0, 1, 2, None], rows), pa.int32()),
        "k": v.column(v.cycle(["x", "y", None, "z"], rows, 3), pa.string()),
        "b": v.column(v.cycle(v.BOOLEANS, rows), pa.bool_()),
    }
    write(folder, pa.table(data), files=3)


@table
def texts(_spark: SparkSession, folder: Path) -> None:
    rows = 240
    data = {
        "id": v.column(range(rows), pa.int32()),
        "s": v.column(v.cycle(v.STRINGS, rows, 7), pa.string()),
        "s2": v.column(v.cycle(v.STRINGS, rows, 11), pa.string()),
        "flag": v.column(v.cycle(["R", "A", "N", None], rows), pa.string()),
        "ds": v.column(v.cycle(v.DATE_STRINGS, rows), pa.string()),
        "good": v.column(v.cycle(v.GOOD_DATE_STRINGS, rows, 3), pa.string()),
        "bin": v.column(v.cycle(v.BYTES, rows, 3), pa.binary()),
        "pos": v.column(v.cycle([0, 1, 2, -1, -2, None, 100, -100, 2147483647, -2147483648], rows, 3), pa.int32()),
        "len": v.column(v.cycle([0, 1, None, 2, -1, 2147483647, 3], rows, 2), pa.int32()),
    }
    write(folder, pa.table(data), files=3)


@table
def times(_spark: SparkSession, folder: Path) -> None:
    rows = 240
    data = {
        "id": v.column(range(rows), pa.int32()),
        "d": v.column(v.cycle(v.dates(v.DATES), rows), pa.date32()),
        "d2": v.column(v.cycle(v.dates(v.DATES), rows, 7), pa.date32()),
        "ts": v.column(v.cycle(v.moments(v.MOMENTS), rows, 5), pa.timestamp("us", "UTC")),
        "ts2": v.column(v.cycle(v.moments(v.MOMENTS), rows, 7), pa.timestamp("us", "UTC")),
        "ntz": v.column(v.cycle(v.moments(v.MOMENTS), rows, 11), pa.timestamp("us")),
        "days": v.column(v.cycle([0, 1, -1, None, 30, 365, -366], rows, 2), pa.int32()),
        "sdays": v.column(v.cycle([0, 1, None, -31], rows, 3), pa.int16()),
        "tdays": v.column(v.cycle([0, 127, None], rows), pa.int8()),
        "huge": v.column(v.cycle([2147483647, -2147483648, 1, None], rows), pa.int32()),
    }
    write(folder, pa.table(data), files=3)


#: Microseconds since midnight: the ends of the day and of its hours, minutes, seconds and milliseconds.
_CLOCKS = [
    0, 1, 999, 1_000, 999_999, 1_000_000, 59_999_999, 60_000_000, 3_599_999_999, 3_600_000_000, None, 43_200_000_000,
    45_296_789_012, 45_296_789_000, 45_296_700_000, 34_859_123_456, 86_399_000_000, 86_399_999_999, 7_384_500_000,
]  # fmt: skip
_CLOCK_TEXTS = [
    "00:00:00", "23:59:59.999999", "1:2:3", "12:34:56.7", " 01:02", "T10:11:12", "10:11:12.1234567", "24:00:00",
    "12:60:00", "12:00:60", "11:00 PM", "12:00:00 am", "12:30pm", "13:00 PM", "00:00 AM", "0:0:0.000001AM", "",
    "x", None, "12", "10:11:12Z", "2020-01-01 10:11:12", "-1:00:00", "10:11:", "10:11:12.", "１0:11:12",
    "10:11:12.5  ", "\t10:11", "10:11:12 +01:00", "12:00AM ", "AM", "PM", "1 PM", "10:11:12.123456789",
    "1:2:3.1234567891234", "100:00:00", "10:1:2 pm", "12:59:59.9 Pm",
]  # fmt: skip


@table
def clocks(_spark: SparkSession, folder: Path) -> None:
    rows = 240
    data = {
        "id": v.column(range(rows), pa.int32()),
        "t": v.column(v.cycle(_CLOCKS, rows), pa.time64("us")),
        "t2": v.column(v.cycle(_CLOCKS, rows, 7), pa.time64("us")),
        "s": v.column(v.cycle(_CLOCK_TEXTS, rows, 5), pa.string()),
        "good": v.column(v.cycle(["01:02:03", "23:59:59.999999", None, "12:30:00 PM", "4:05"], rows), pa.string()),
        "d": v.column(v.cycle(v.dates(v.DATES), rows, 3), pa.date32()),
        "hours": v.column(v.cycle([0, 1, 23, None, 12], rows), pa.int32()),
        "n": v.column(v.cycle([0, 1, -1, 24, None, 59, 60, 2147483647, -2147483648], rows), pa.int32()),
        "span": v.column(v.cycle([0, 1, -1, 3_600_000_000, None, -60_000_000, 86_400_000_000], rows, 5), pa.int64()),
    }
    write(folder, pa.table(data), files=3, row_group=50)


#: Texts of time zones beside the names of regions; the last ones name none.
_ZONE_TEXTS = [
    "Z", "UTC", "GMT+8", "UTC-03:30", "UT+1", "+7", "-0930", "+01:02:03", "+5:3", "PST", "EST", "IST", "-18:00", None,
]  # fmt: skip


@table
def zones(spark: SparkSession, folder: Path) -> None:
    """Every time zone of the JVM with instants from 1840 to 2500, and in years of few and many digits."""
    regions = sorted(spark._jvm.java.time.ZoneId.getAvailableZoneIds())  # type: ignore[union-attr]
    seconds = [-62_000_000_000, -4_102_444_800, 253_000_000_000, 16_725_225_600, *range(0, 30)]
    rows = [
        (zone, seconds[number] if number < 4 else -2_208_988_800 + (place * 977 + number * 7919) % 5000 * 1_300_000)
        for place, zone in enumerate([*regions, *_ZONE_TEXTS])
        for number in range(len(seconds))
    ]
    data = {
        "id": v.column(range(len(rows)), pa.int32()),
        "zone": v.column([zone for zone, _ in rows], pa.string()),
        "ts": pa.array([second * 1_000_000 for _, second in rows], pa.int64()).cast(pa.timestamp("us", "UTC")),
    }
    write(folder, pa.table(data), files=3)


@table
def timestamp_texts(_spark: SparkSession, folder: Path) -> None:
    rows = 2 * len(v.TIMESTAMP_TEXTS)
    data = {
        "id": v.column(range(rows), pa.int32()),
        "x": v.column(v.cycle(v.TIMESTAMP_TEXTS, rows), pa.string()),
        "good": v.column(v.cycle(v.GOOD_TIMESTAMP_TEXTS, rows), pa.string()),
    }
    write(folder, pa.table(data), files=3)


@table
def keys(_spark: SparkSession, folder: Path) -> None:
    """Grouping keys of each type with NULL, NaN, ±0 and few distinct values, and a value to aggregate."""
    rows = 500
    data = {
        "id": v.column(range(rows), pa.int64()),
        "b": v.column(v.cycle(v.BOOLEANS, rows), pa.bool_()),
        "t": v.column(v.cycle(v.TINYINTS, rows), pa.int8()),
        "s": v.column(v.cycle(v.SMALLINTS, rows), pa.int16()),
        "i": v.column(v.cycle(v.INTS, rows), pa.int32()),
        "l": v.column(v.cycle(v.LONGS, rows), pa.int64()),
        "f": v.column(v.cycle(v.FLOATS, rows), pa.float32()),
        "d": v.column(v.cycle(v.DOUBLES, rows), pa.float64()),
        "n9": v.column(v.cycle(v.decimals(v.DECIMALS_9_2), rows), pa.decimal128(9, 2)),
        "n18": v.column(v.cycle(v.decimals(v.DECIMALS_18_4), rows), pa.decimal128(18, 4)),
        "n38": v.column(v.cycle(v.decimals(v.DECIMALS_38_10), rows), pa.decimal128(38, 10)),
        "str": v.column(v.cycle(v.STRINGS, rows), pa.string()),
        "bin": v.column(v.cycle(v.BYTES, rows), pa.binary()),
        "dt": v.column(v.cycle(v.dates(v.DATES), rows), pa.date32()),
        "ts": v.column(v.cycle(v.moments(v.MOMENTS), rows), pa.timestamp("us", "UTC")),
        "ntz": v.column(v.cycle(v.moments(v.MOMENTS), rows), pa.timestamp("us")),
        "void": v.column([None] * rows, pa.int32()),
        "one": v.column([1] * rows, pa.int32()),
    }
    write(folder, pa.table(data), files=3, row_group=70)


@table
def raising(_spark: SparkSession, folder: Path) -> None:
    """Rows of one row group, some of which violate a rule: ``s`` of row 1 is not a number, ``a`` of row 5 is 0."""
    rows = range(1000)
    data = {
        "k": pa.array(rows, pa.int64()),
        "g": pa.array([k % 7 for k in rows], pa.int32()),
        "s": pa.array(["x" if k == 1 else str(k) for k in rows]),
        "a": pa.array([0 if k == 5 else 1 for k in rows], pa.int32()),
    }
    write(folder, pa.table(data), files=1, row_group=len(rows))
