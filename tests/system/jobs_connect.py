"""A program whose session is a Spark Connect client of the server that it starts itself; prints what reports say."""

from __future__ import annotations

from pyspark.sql import SparkSession

import pyspark_pipeline
from pyspark_pipeline.errors import PipelineError


def main() -> None:
    builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "localhost").config("spark.sql.shuffle.partitions", "2")
    spark = pyspark_pipeline.install(builder.config("spark.pysparkPipeline.cost.enabled", "false")).getOrCreate()
    frame = spark.sql("SELECT id % 3 AS k, count(*) AS n FROM range(0, 300, 1, 2) GROUP BY 1")
    print("ROWS", type(spark).__module__, sorted(tuple(row) for row in frame.collect()))
    print("EXPLAIN", pyspark_pipeline.explain(frame).converted)
    for name, arguments in (("profile", ()), ("timeline", ("timeline.json",))):
        try:
            getattr(pyspark_pipeline, name)(frame, *arguments)
        except PipelineError as error:
            print("REFUSED", error)
    spark.stop()


if __name__ == "__main__":
    main()
