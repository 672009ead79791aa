"""Tables with difficult *files*: layouts, writers, partitions, row groups, missing columns."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tests.support import values as v
from tests.support.nasty_tables import numbers_data
from tests.support.sessions import configured
from tests.support.tables import table, write

_OLD_CALENDAR = {
    "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
}
_STORED_AS = "spark.sql.parquet.outputTimestampType"
_TIME_ZONE = "spark.sql.session.timeZone"
_ZONE_KEY = "org.apache.spark.timeZone"

@table
def lineitem_tiny(_spark: SparkSession, folder: Path) -> None:
    """A small lineitem of TPC-H: 3 000 rows with the types and value ranges of the real one."""
    rows = 3000
    hundredth = Decimal("0.01")
    price = [((index * 7919) % 9000000 + 90000) * hundredth for index in range(rows)]
    ship = [v.date("1992-01-02") + (index * 37) % 2526 for index in range(rows)]
    money = pa.decimal128(15, 2)
    data = {
        "l_orderkey": v.column([index // 4 * 8 + index % 4 for index in range(rows)], pa.int64()),
        "l_linenumber": v.column([index % 7 + 1 for index in range(rows)], pa.int32()),
        "l_quantity": v.column([Decimal((index * 13) % 50 + 1) for index in range(rows)], money),
        "l_extendedprice": v.column(price, money),
        "l_discount": v.column([((index * 3) % 11) * hundredth for index in range(rows)], money),
        "l_tax": v.column([((index * 5) % 9) * hundredth for index in range(rows)], money),
        "l_returnflag": v.column(v.cycle(["N", "A", "R", "N"], rows), pa.string()),
        "l_linestatus": v.column(v.cycle(["O", "F", "O"], rows), pa.string()),
        "l_shipdate": v.column(ship, pa.date32()),
        "l_shipmode": v.column(v.cycle(["AIR", "REG AIR", "MAIL", "SHIP", "TRUCK", "RAIL"], rows, 5), pa.string()),
        "l_comment": v.column([f"comment {index * 31 % 997}" for index in range(rows)], pa.string()),
    }
    write(folder, pa.table(data), files=3, row_group=300)


@table
def partitioned(_spark: SparkSession, folder: Path) -> str:
    """Partition columns of several types, NULL partitions and values that need escaping."""
    texts = ["a", "b c", "x=y", "50%", "__HIVE_DEFAULT_PARTITION__", "日本"]
    escaped = {"x=y": "x%3Dy", "50%": "50%25"}
    for number, text in enumerate(texts):
        day = "__HIVE_DEFAULT_PARTITION__" if number == 3 else f"2024-01-{number + 1:02d}"
        place = folder / f"p_day={day}" / f"p_text={escaped.get(text, text)}" / f"p_num={number % 3}"
        count = 0 if number == 1 else 11 + number
        data = {"id": range(number * 100, number * 100 + count), "x": [index * 0.5 for index in range(count)]}
        types = {"id": pa.int64(), "x": pa.float64()}
        write(place, pa.table({name: v.column(data[name], types[name]) for name in data}), files=1, row_group=5)
    return "id bigint, x double, p_day date, p_text string, p_num int"


@table
def small_files(_spark: SparkSession, folder: Path) -> None:
    data = numbers_data(150).select(["id", "i", "n18", "d", "b"])
    write(folder, data, files=30)


@table
def batch_plus_one(_spark: SparkSession, folder: Path) -> None:
    """65 537 rows in one row group: one row more than a chunk holds."""
    rows = 65537
    data = {
        "id": v.column(range(rows), pa.int64()),
        "g": v.column([None if index % 1000 == 7 else index % 1000 for index in range(rows)], pa.int32()),
        "flag": v.column(v.cycle(["A", "B", None], rows), pa.string()),
        "n": v.column([Decimal(index) / 4 for index in range(rows)], pa.decimal128(12, 2)),
    }
    write(folder, pa.table(data), files=1, row_group=rows)


@table
def empty(_spark: SparkSession, folder: Path) -> None:
    """No rows: one file without row groups, one with an empty row group."""
    schema = pa.schema([("id", pa.int64()), ("s", pa.string()), ("n", pa.decimal128(10, 2)), ("d", pa.float64())])
    folder.mkdir(parents=True)
    with pq.ParquetWriter(folder / "part-00000.parquet", schema):
        pass
    with pq.ParquetWriter(folder / "part-00001.parquet", schema) as writer:
        writer.write_table(schema.empty_table())


@table
def evolved(_spark: SparkSession, folder: Path) -> str:
    """Files of three schema versions: columns missing, reordered, and named in another case."""
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1, 2], "a": ["x", None]}), folder / "part-0.parquet")
    pq.write_table(pa.table({"b": [1.5, None], "a": ["y", "z"], "id": [3, 4]}), folder / "part-1.parquet")
    pq.write_table(pa.table({"ID": [5, 6], "B": [2.5, 3.5]}), folder / "part-2.parquet")
    return "id bigint, a string, b double, c decimal(10,2), d date"


@table
def widened(_spark: SparkSession, folder: Path) -> str:
    """Files whose types are narrower than the schema of the read, as Spark's reader allows."""
    data = {
        "i": v.column([1, -2, None, 2147483647], pa.int32()),
        "f": v.column([1.5, None, float("nan"), -0.0], pa.float32()),
        "n": v.column(v.decimals(["1.25", None, "-99999.99", "0.00"]), pa.decimal128(7, 2)),
        "dt": v.column([0, None, 19000, -1], pa.date32()),
    }
    write(folder, pa.table(data), files=1, row_group=2)
    return "i bigint, f double, n decimal(18,4), dt timestamp_ntz"


@table
def unsigned(_spark: SparkSession, folder: Path) -> None:
    """Unsigned integers: Spark reads them as the next larger signed type, 64 bits as decimal(20,0)."""
    data = {
        "u8": v.column([0, 255, None, 128], pa.uint8()),
        "u16": v.column([0, 65535, None, 32768], pa.uint16()),
        "u32": v.column([0, 4294967295, None, 2147483648], pa.uint32()),
        "u64": v.column([0, 18446744073709551615, None, 9223372036854775808], pa.uint64()),
    }
    write(folder, pa.table(data), files=1, row_group=2)


@table
def nested(_spark: SparkSession, folder: Path) -> None:
    data = pa.table(
        {
            "id": [1, 2, 3],
            "arr": [[1, 2], [], None],
            "st": [{"x": 1, "y": "a"}, {"x": None, "y": "b"}, None],
            "m": pa.array([[("k", 1.5)], [], None], pa.map_(pa.string(), pa.float64())),
        }
    )
    write(folder, data, files=1)


@table
def pruned(_spark: SparkSession, folder: Path) -> None:
    """Sorted columns over many row groups, so that statistics prune; some groups all NULL or all NaN."""
    rows = 1200
    group = 100
    odd = [float("nan") if index // group == 3 else float(index) for index in range(rows)]
    data = {
        "id": v.column(range(rows), pa.int64()),
        "i": v.column([None if index // group == 5 else index for index in range(rows)], pa.int32()),
        "d": v.column(odd, pa.float64()),
        "zero": v.column([-0.0 if index % 2 else 0.0 for index in range(rows)], pa.float64()),
        "s": v.column([f"key-{index:05d}" for index in range(rows)], pa.string()),
        "u": v.column([f"prefix-{'é' * 40}-{index:05d}" for index in range(rows)], pa.string()),
        "n": v.column([Decimal(index) - 600 for index in range(rows)], pa.decimal128(20, 2)),
        "dt": v.column([index - 600 for index in range(rows)], pa.date32()),
        "ts": v.column([(index - 600) * 3_600_000_000 for index in range(rows)], pa.timestamp("us", "UTC")),
        "b": v.column([index >= 600 for index in range(rows)], pa.bool_()),
        "bin": v.column([index.to_bytes(2, "big") for index in range(rows)], pa.binary()),
    }
    write(folder, pa.table(data), files=2, row_group=group)


@table
def spark_written(spark: SparkSession, folder: Path) -> None:
    """Written by Spark itself: INT96 timestamps, its own decimals and dictionaries."""
    spark.sql(
        """SELECT CAST(id AS INT) AS id, CAST(id % 100 AS TINYINT) AS t, CAST(id % 7 AS STRING) AS s,
             CAST(id * 1.25 AS DECIMAL(7,2)) AS n7, CAST(id AS DECIMAL(17,3)) AS n17, CAST(-id AS DECIMAL(38,5)) AS n38,
             timestamp_micros(id * 1234567890123 - 200000000000000) AS ts,
             date_add(DATE'1999-12-31', CAST(id AS INT)) AS dt,
             timestamp_ntz'2020-02-29 01:02:03.456789' AS ntz, CAST(CAST(id AS STRING) AS BINARY) AS bin,
             IF(id % 3 = 0, NULL, CAST(id AS FLOAT)) AS f, id % 2 = 0 AS b
           FROM range(0, 400, 1, 2)"""
    ).write.parquet(str(folder))


@table
def spark_micros(spark: SparkSession, folder: Path) -> None:
    """Written by Spark with 64-bit timestamps in milliseconds, and legacy decimals (fixed-length bytes)."""
    settings = {
        _STORED_AS: "TIMESTAMP_MILLIS",
        "spark.sql.parquet.writeLegacyFormat": "true",
    }
    query = """SELECT id, timestamp_millis(id * 86399999) AS ts, CAST(id AS DECIMAL(9,2)) AS n9,
                 CAST(-id AS DECIMAL(18,1)) AS n18 FROM range(50)"""
    _write_under(spark, folder, settings, query)


_OLD_DAYS = """(SELECT dt, CAST(IF(dt < DATE'0001-01-03', DATE'0001-01-03', dt) AS TIMESTAMP) AS midnight FROM VALUES
    (DATE'0001-01-01'), (DATE'0100-03-01'), (DATE'1000-02-28'), (DATE'1500-02-28'), (DATE'1500-03-01'),
    (DATE'1582-10-04'), (DATE'1582-10-05'), (DATE'1582-10-14'), (DATE'1582-10-15'), (DATE'1883-11-18'),
    (DATE'1899-12-31'), (DATE'1900-01-01'), (DATE'2024-02-29'), (CAST(NULL AS DATE)) AS days(dt))"""


@table
def legacy_dates(spark: SparkSession, folder: Path) -> str:
    """Dates and timestamps in the hybrid Julian calendar, as Spark 2 wrote them: in several zones and encodings.

    The last file has values that no current Spark writes: leap days that only the Julian calendar has.
    """
    for zone in ("UTC", "America/Los_Angeles", "Asia/Kolkata", "Africa/Monrovia"):
        for stored in ("INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"):
            query = f"""SELECT CAST(id AS INT) AS id, '{zone} {stored}' AS s, dt,
                     midnight + make_dt_interval(0, id * 9, 59, 59.123456) AS ts,
                     CAST(dt AS TIMESTAMP_NTZ) AS ntz FROM range(0, 3, 1, 1) CROSS JOIN {_OLD_DAYS}"""
            _write_under(spark, folder, {**_OLD_CALENDAR, _STORED_AS: stored, _TIME_ZONE: zone}, query)
    days = [-171597, -171596, -171595, None, -354286, 0]
    data = {
        "id": v.column(range(6), pa.int32()),
        "s": v.column(["leap"] * 6, pa.string()),
        "dt": v.column(days, pa.date32()),
        "ts": v.column([day and day * 86_400_000_000 for day in days], pa.timestamp("us", "UTC")),
        "ntz": v.column([day and day * 86_400_000_000 for day in days], pa.timestamp("us")),
    }
    leap = pa.table(data)
    with pq.ParquetWriter(folder / "leap.parquet", leap.schema, store_schema=False) as writer:
        writer.write_table(leap)
        writer.add_key_value_metadata({"org.apache.spark.version": "2.4.8", _ZONE_KEY: "Europe/Paris"})
    return "id int, s string, dt date, ts timestamp, ntz timestamp_ntz"


@table
def legacy_partitioned(spark: SparkSession, folder: Path) -> str:
    """Files in the Julian calendar below partitions whose names are days of the Gregorian one."""
    query = f"SELECT midnight AS ts, dt AS p_day FROM {_OLD_DAYS}"
    _write_under(spark, folder, {**_OLD_CALENDAR, _STORED_AS: "TIMESTAMP_MICROS"}, query, partition="p_day")
    return "ts timestamp, p_day date"


@table
def legacy_groups(_spark: SparkSession, folder: Path) -> None:
    """Row groups whose statistics are in the Julian calendar, with dictionary and plain encoding."""
    days = [index * 29 - 719160 for index in range(24000)]
    moments = [day * 86_400_000_000 + index * 3_599_000_001 for index, day in enumerate(days)]
    data = pa.table({"dt": v.column(days, pa.date32()), "ts": v.column(moments, pa.timestamp("us", "UTC"))})
    leap = pa.table({"dt": v.column([-171596] * 3, pa.date32()), "ts": v.column([None] * 3, pa.timestamp("us", "UTC"))})
    folder.mkdir(parents=True)
    for number, part in enumerate((data.slice(0, 12000), data.slice(12000), leap)):
        path = folder / f"part-{number}.parquet"
        with pq.ParquetWriter(path, part.schema, store_schema=False, use_dictionary=number == 0) as writer:
            writer.write_table(part, row_group_size=1000)
            writer.add_key_value_metadata({"org.apache.spark.version": "2.4.8", _ZONE_KEY: "America/Los_Angeles"})


def _write_under(
    spark: SparkSession, folder: Path, settings: dict[str, str], query: str, partition: str | None = None
) -> None:
    with configured(spark, settings):
        spark.sql(query).write.parquet(str(folder), mode="append", partitionBy=partition)


@table
def seconds(_spark: SparkSession, folder: Path) -> None:
    """Timestamps in milliseconds as Arrow writers store them; nanoseconds are left out because Spark rejects them."""
    start = datetime.datetime(2024, 3, 10, 6, 59, 59)
    stamps = [start + datetime.timedelta(milliseconds=index * 1001) for index in range(30)]
    data = {"ms": pa.array(stamps, pa.timestamp("ms", "UTC")), "ntz_ms": pa.array(stamps, pa.timestamp("ms"))}
    write(folder, pa.table(data), files=1, row_group=7)


@table
def wide_sums(_spark: SparkSession, folder: Path) -> None:
    """Decimals whose sums overflow: per group ``k``, 0 fits, 1 overflows 38 digits, 2 cancels out, 3 is NULL."""
    big = "99999999999999999999999999999999999999"
    rows = [(0, "1"), (0, "-3"), (1, big), (1, big), (2, big), (2, f"-{big}"), (3, None), (0, None)] * 3
    data = {
        "k": v.column([key for key, _ in rows], pa.int32()),
        "n": v.column(v.decimals([text for _, text in rows]), pa.decimal128(38, 0)),
        "l": v.column([9223372036854775807 if key == 1 else key for key, _ in rows], pa.int64()),
    }
    write(folder, pa.table(data), files=2, row_group=6)


@table
def intervals(spark: SparkSession, folder: Path) -> None:
    """Intervals as Spark writes them: integers without annotations."""
    spark.sql(
        """SELECT id, IF(id % 7 = 0, NULL, id * INTERVAL '-3 04:05:06.789012' DAY TO SECOND) AS dt,
            (id % 5) * INTERVAL '02:03' HOUR TO MINUTE AS hm, CAST(id - 50 AS int) * INTERVAL '1-2' YEAR TO MONTH AS ym,
            IF(id % 3 = 0, NULL, CAST(id AS int) * INTERVAL '5' MONTH) AS m FROM range(0, 200, 1, 2)"""
    ).write.parquet(str(folder))
