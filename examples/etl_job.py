"""A job independent of the extension: a pricing summary over TPC-H's lineitem, with the DataFrame API.

spark-submit examples/etl_job.py FOLDER
spark-submit $(pyspark-pipeline submit-args) examples/etl_job.py FOLDER
"""

import datetime
import sys
import time

from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def pricing_summary(spark, path):
    """Return sums of the lines shipped until September 1998, by return flag and line status."""
    price = F.col("l_extendedprice") * (1 - F.col("l_discount"))
    return (
        spark.read.parquet(path)
        .where(F.col("l_shipdate") <= F.lit(datetime.date(1998, 9, 2)))
        .groupBy("l_returnflag", "l_linestatus")
        .agg(
            F.sum("l_quantity").alias("quantity"),
            F.sum(price).alias("revenue"),
            F.avg("l_discount").alias("discount"),
            F.count("*").alias("lines"),
        )
        .orderBy("l_returnflag", "l_linestatus")
    )


def main(folder, runs):
    spark = SparkSession.builder.appName("pricing summary").getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    for _ in range(runs):
        began = time.perf_counter()
        summary = pricing_summary(spark, f"{folder}/lineitem.parquet")
        rows = summary.collect()
        print(f"took {time.perf_counter() - began:.2f} s")
    for row in rows:
        print("row", *row)
    summary.explain()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1)
