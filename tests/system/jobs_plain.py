"""A job independent of the extension: writes a table, reads it, aggregates, joins, prints plan and rows."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def main(folder: str) -> None:
    spark = SparkSession.builder.appName("plain job").getOrCreate()
    numbers = spark.range(100_000).select("id", (F.col("id") % 7).alias("k"), (F.col("id") * 0.5).alias("x"))
    numbers.write.mode("overwrite").parquet(folder)
    table = spark.read.parquet(folder).where("id >= 10")
    frame = table.groupBy("k").agg(F.count("*").alias("n"), F.sum("id").alias("s"))
    for row in sorted(frame.collect()):
        print("ROW", *row)
    frame.explain()
    small = spark.range(7).select(F.col("id").alias("k"), F.concat(F.lit("name "), "id").alias("name"))
    joined = table.join(F.broadcast(small), "k").where("id < 20").select("id", "name")
    for row in joined.orderBy(F.col("id").desc()).collect():
        print("JOINED", *row)
    joined.explain()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
