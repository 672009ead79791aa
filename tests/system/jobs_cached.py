"""A job that caches a result of the engine on two executors, each block on both, and reads it with both engines.

It has no decimals: their bounds are of a class that Spark does not register with Kryo.
"""

from __future__ import annotations

import json

from pyspark import StorageLevel
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pyspark_pipeline.spark import explain

_COLUMNS = (
    "id",
    "concat('name ', id % 9) AS name",
    "id / 7 AS price",
    "date_add(DATE'2000-01-01', CAST(id AS INT)) AS day",
)


def main() -> None:
    spark = SparkSession.builder.appName("cached job").getOrCreate()
    made = spark.range(0, 20_000, 1, 4).selectExpr(*_COLUMNS).where("id % 5 > 0")
    cached = made.persist(StorageLevel.MEMORY_AND_DISK_2)
    grouped = cached.where("price > 100").groupBy("name").agg(F.max("price"), F.max("day"), F.count("id"))
    rows = sorted(map(str, grouped.collect()))
    summary = explain.summary(grouped)
    spark.conf.set("spark.pysparkPipeline.enabled", "false")
    plain = sorted(map(str, grouped.select("*").collect()))
    cached.unpersist(blocking=True)
    uncached = sorted(map(str, grouped.select("*").collect()))
    print(json.dumps({"engine": rows == uncached, "spark": plain == uncached, "groups": len(rows), **summary}))
    spark.stop()


if __name__ == "__main__":
    main()
