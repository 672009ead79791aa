"""A program that builds two sessions: one with the default Python for the workers, then one with another."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

import pyspark_pipeline


def _query(spark: SparkSession) -> None:
    frame = spark.sql("SELECT id % 7 AS k, count(*) AS n FROM range(1000) GROUP BY 1")
    print("ROWS", sum(row.n for row in frame.collect()))
    pyspark_pipeline.explain(frame)
    print("PYTHON", spark.sparkContext.parallelize([0], 1).map(lambda _: sys.prefix).collect()[0])


def _session() -> SparkSession:
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.pysparkPipeline.cost.enabled", "false").config("spark.driver.host", "localhost")
    return pyspark_pipeline.install(builder.config("spark.sql.shuffle.partitions", "2")).getOrCreate()


def main(other: str) -> None:
    spark = _session()
    _query(spark)
    spark.stop()
    os.environ["PYSPARK_PYTHON"] = other
    print("OTHER", flush=True)
    spark = _session()
    _query(spark)
    spark.conf.set("spark.pysparkPipeline.strict", "true")
    try:
        spark.sql("SELECT count(*) FROM range(10)").collect()
    except Exception as error:  # printed for the test to judge
        print("STRICT", str(error).splitlines()[0:2])
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
