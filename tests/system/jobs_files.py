"""A job of a cluster that prints, as JSON lines, the rows of files of each format with and without fragments.

Spark writes the files, two of each, so that both executors read. The last form writes files of partitions, too.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as f

from benchmarks.executions import Executions
from tests.system.forms import print_forms

_SCHEMA = "id long, k int, price decimal(9,2), day date, word string"


def _forms(spark: SparkSession, folder: Path) -> dict[str, Callable[[], DataFrame]]:
    rows = spark.range(0, 4000, 1, 2).selectExpr(
        "id", "cast(id % 5 as int) as k", "cast(id / 7 as decimal(9,2)) as price",
        "date'2024-02-28' + cast(id % 400 as int) as day",
        "case when id % 11 = 0 then null else concat('wört, ', id % 13) end as word",
    )  # fmt: skip
    formats = ("csv", "json", "orc", "parquet")
    for name in formats:
        rows.write.format(name).save(str(folder / name))
    rows.select(f.concat_ws(" ", "id", "word")).write.text(str(folder / "text"))

    def totals(frame: DataFrame) -> DataFrame:
        return frame.groupBy("k").agg(f.count("word"), f.sum("price").cast("string"), f.max("day").cast("string"))

    def read(name: str) -> Callable[[], DataFrame]:
        return lambda: totals(spark.read.schema(_SCHEMA).format(name).load(str(folder / name)))

    def words() -> DataFrame:
        lines = spark.read.text(str(folder / "text"))
        return lines.select(f.explode(f.split("value", " ")).alias("w")).groupBy(f.length("w")).count()

    def observed() -> DataFrame:
        frame = spark.read.parquet(str(folder / "parquet"))
        return totals(frame.observe(Observation(), f.count("id").alias("n"), f.max("price").alias("most")))

    executions, numbers = Executions(spark), itertools.count()

    def written() -> DataFrame:
        target = str(folder / f"written-{next(numbers)}")
        executions.take()
        spark.read.parquet(str(folder / "parquet")).repartition(4, "id").write.partitionBy("k").parquet(target)
        made = executions.take()
        if spark.conf.get("spark.pysparkPipeline.enabled") == "true" and made["converted"] != made["operators"]:
            raise AssertionError(f"the write did not convert: {made}")
        return totals(spark.read.schema(_SCHEMA).parquet(target))

    return {name: read(name) for name in formats} | {"text": words, "observe": observed, "written": written}


def main(folder: str) -> None:
    spark = SparkSession.builder.appName("files").getOrCreate()
    print_forms(spark, _forms(spark, Path(folder)))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
