"""A program that builds its own session, with the extension on; then the same query with it off.

python examples/session_builder.py
"""

import tempfile

from pyspark.sql import SparkSession

import pyspark_pipeline


def main():
    builder = SparkSession.builder.appName("session builder").master("local[2]")
    spark = pyspark_pipeline.install(builder).getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    with tempfile.TemporaryDirectory() as folder:
        spark.range(100_000).selectExpr("id", "id % 7 as day", "id * 2 as amount").write.parquet(f"{folder}/sales")
        spark.conf.set("spark.pysparkPipeline.cost.enabled", "false")  # convert although the file is small
        spark.read.parquet(f"{folder}/sales").createOrReplaceTempView("sales")
        for enabled in ("true", "false"):
            spark.conf.set("spark.pysparkPipeline.enabled", enabled)
            days = spark.sql("select day, sum(amount) as amount from sales group by day order by day")
            print("enabled", enabled, [tuple(row) for row in days.collect()])
    spark.stop()


if __name__ == "__main__":
    main()
