"""A job of a cluster that prints, as JSON lines, the rows of Python functions with and without fragments.

The functions import a module of ``--py-files``, and read a file of ``addFile`` and a broadcast variable. The first
attempts of two end their workers.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark import SparkFiles, TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tests.system.forms import print_forms


def _forms(spark: SparkSession) -> dict[str, Callable[[], DataFrame]]:
    factor = spark.sparkContext.broadcast({"by": 3})
    called = spark.sparkContext.accumulator(0)
    rows = spark.range(0, 4000, 1, 4).withColumn("k", f.col("id") % 5)

    def scaled(values: pd.Series) -> pd.Series:
        import shipped  # here: a module of --py-files

        called.add(1)
        return values * factor.value["by"] + shipped.ADDED + int(Path(SparkFiles.get("offset.txt")).read_text())

    def ended(frames: Iterator[pd.DataFrame], end: Callable[[], Any]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            context = TaskContext.get()
            if context is not None and context.partitionId() == 1 and context.attemptNumber() == 0:
                end()
            yield frame

    def first(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.nsmallest(2, "id")

    schema = "id long, k long"
    return {
        "pandas_udf": lambda: rows.select(f.sum(f.pandas_udf(scaled, "long")("id"))),
        "udf": lambda: rows.select(f.sum(f.udf(lambda value: value * factor.value["by"], "long")("id"))),
        "applyInPandas": lambda: rows.groupBy("k").applyInPandas(first, schema),
        "killed": lambda: rows.mapInPandas(
            lambda frames: ended(frames, lambda: os.kill(os.getpid(), signal.SIGKILL)), schema
        ).groupBy("k").agg(f.sum("id")),
        "exited": lambda: rows.mapInPandas(lambda frames: ended(frames, lambda: os._exit(1)), schema).agg(f.sum("id")),
    }  # fmt: skip


def main(offset: str) -> None:
    spark = SparkSession.builder.appName("functions").getOrCreate()
    spark.sparkContext.addFile(offset)
    print_forms(spark, _forms(spark))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
