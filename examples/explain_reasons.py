"""Prints the converted operators of a query, and the reasons why the others stayed in Spark.

spark-submit $(pyspark-pipeline submit-args) examples/explain_reasons.py
"""

import tempfile

from pyspark.sql import SparkSession

import pyspark_pipeline


def main():
    spark = SparkSession.builder.appName("explain reasons").getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    spark.conf.set("spark.pysparkPipeline.cost.enabled", "false")  # convert although the file is small
    with tempfile.TemporaryDirectory() as folder:
        spark.range(10_000).selectExpr("id", "cast(id as string) as name").write.parquet(f"{folder}/people")
        people = spark.read.parquet(f"{folder}/people")
        counted = people.where("id > 10").groupBy("id").count()
        spoken = people.selectExpr("sentences(name) as words").selectExpr("words[0][0] as word").groupBy("word").count()
        for frame in (counted, spoken):
            frame.collect()  # explain reports on the plan that ran
            pyspark_pipeline.explain(frame)  # a statement prints; report = explain(frame) does not
    spark.stop()


if __name__ == "__main__":
    main()
