"""Tables of ORC files: every type that Spark writes, every compression, stripes of few rows, and partitions."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as orc
from pyspark.sql import DataFrame, SparkSession

from tests.support.sessions import ENABLED, configured
from tests.support.tables import orc_table

_TYPES = (
    "CAST(id AS INT) AS id",
    "IF(id % 7 = 0, NULL, id % 2 = 0) AS flag",
    "CAST(IF(id % 5 = 0, NULL, id % 256 - 128) AS TINYINT) AS tiny",
    "CAST(IF(id % 11 = 0, NULL, id * 13 % 65536 - 32768) AS SMALLINT) AS small",
    "IF(id % 3 = 0, NULL, id * 123456789123) AS large",
    "CAST(CASE id % 13 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0.0' ELSE id / 7 END AS FLOAT) AS share",
    "CASE id % 13 WHEN 0 THEN DOUBLE('inf') WHEN 1 THEN DOUBLE('NaN') ELSE id / 7 END AS ratio",
    "CAST(IF(id % 4 = 0, NULL, id / 100) AS DECIMAL(10, 2)) AS price",
    "CAST(id AS DECIMAL(38, 18)) * -12345678901.123456 AS wide",
    "CASE WHEN id % 6 = 0 THEN NULL WHEN id % 6 = 1 THEN '' ELSE concat('é', id % 50) END AS word",
    "concat('unique ', id) AS name",
    "IF(id % 9 = 0, NULL, CAST(concat('b', id) AS BINARY)) AS bytes",
    "IF(id % 9 = 0, NULL, date_add(DATE'0001-01-01', CAST(id * 1825 AS INT))) AS day",
    "IF(id % 8 = 0, NULL, timestamp_micros(-62135596800000000 + id * 157500000000123)) AS seen",
    "TIMESTAMP_NTZ'0001-01-01 00:00:00' + make_dt_interval(0, 0, 0, id * 157500000.123) AS local",
    "make_dt_interval(0, 0, 0, id) AS span",
    "make_ym_interval(0, CAST(id AS INT)) AS months",
    "IF(id % 5 = 0, NULL, IF(id % 5 = 1, array(), array(id, NULL, id + 1))) AS list",
    "IF(id % 4 = 0, NULL, map(concat('k', id % 3), id, 'z', NULL)) AS pairs",
    "IF(id % 3 = 0, NULL, named_struct('x', IF(id % 7 = 0, NULL, id), 'Y', named_struct('z', CAST(id AS STRING), "
    "'w', array(named_struct('q', id, 'd', DATE'1500-01-01' + CAST(id AS INT)))))) AS more",
)


def typed_rows(spark: SparkSession, rows: int) -> DataFrame:
    """Return rows of every type, with NULLs, the first and the last days, and texts that are not ASCII."""
    return spark.range(rows).selectExpr(*_TYPES)


@orc_table()
def orc_types(spark: SparkSession, folder: Path) -> None:
    """1 000 rows of every type, in a file of each compression."""
    with configured(spark, {ENABLED: "false"}):
        for place, codec in enumerate(("none", "zlib", "snappy", "lz4", "zstd")):
            rows = typed_rows(spark, 2000).where(f"id % 5 = {place}").coalesce(1)
            rows.write.mode("append").option("compression", codec).orc(str(folder))


@orc_table()
def orc_days(_spark: SparkSession, folder: Path) -> str:
    """20 000 rows of pyarrow in stripes of about a thousand, in files below partitions that lack columns."""
    source = random.Random(3)
    for number, style in enumerate(({"file_version": "0.11"}, {"compression": "zstd"}, {"compression": "snappy"})):
        place = folder / f"day=2024-01-0{number + 1}"
        place.mkdir(parents=True)
        ids = pa.array(range(number * 7000, (number + 1) * 7000))
        data = {
            "ID": ids,
            "word": [source.choice(["the", "a", "naïve", "", None]) for _ in ids],
            "at": pa.array([source.randrange(2**52) if row % 5 else None for row in range(7000)], pa.timestamp("us")),
            "big": pa.array([source.randrange(-(2**40), 2**40) for _ in ids], pa.int64()),
            "more": [{"left": row, "right": f"r{row}"} if row % 5 else None for row in range(7000)],
        }
        if number == 2:
            del data["big"]
        orc.write_table(pa.table(data), str(place / "rows.orc"), stripe_size=20000, batch_size=500, **style)
    return "id bigint, word string, at timestamp, big bigint, more struct<right:string,gone:int>, day date"
