"""A program whose session is a Spark Connect client of the server that it starts itself; prints what reports say.

Its Python functions read a module and a file that the session adds.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from pyspark import SparkFiles
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import pyspark_pipeline
from pyspark_pipeline.errors import PipelineError


def scaled(numbers: pd.Series) -> pd.Series:
    """Multiply by the factor in the module of the session."""
    import added_module  # type: ignore[import-not-found]

    return numbers * added_module.FACTOR


def shifted(number: int) -> int:
    """Add the number in the file of the session."""
    return number + int((Path(SparkFiles.getRootDirectory()) / "added.txt").read_text())


def mapped(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Multiply a column by the factor in the module of the session."""
    import added_module

    for frame in frames:
        yield frame.assign(n=frame["n"] * added_module.FACTOR)


def add_files(spark: SparkSession, factor: int) -> None:
    """Add a module and a file to the session."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "added_module.py").write_text(f"FACTOR = {factor}")
        Path(folder, "added.txt").write_text(str(factor))
        spark.addArtifacts(os.path.join(folder, "added_module.py"), pyfile=True)
        spark.addArtifacts(os.path.join(folder, "added.txt"), file=True)


def called(frame: DataFrame) -> DataFrame:
    """Return the frame with functions that read the session's files."""
    mapped_frame = frame.mapInPandas(mapped, "n long")
    return mapped_frame.select("n", f.pandas_udf(scaled, "long")("n"), f.udf(shifted, "long")("n"))


def main() -> None:
    builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "localhost").config("spark.sql.shuffle.partitions", "2")
    spark = pyspark_pipeline.install(builder.config("spark.pysparkPipeline.cost.enabled", "false")).getOrCreate()
    frame = spark.sql("SELECT id % 3 AS k, count(*) AS n FROM range(0, 300, 1, 2) GROUP BY 1")
    print("ROWS", type(spark).__module__, sorted(tuple(row) for row in frame.collect()))
    print("EXPLAIN", pyspark_pipeline.explain(frame).converted)
    add_files(spark, 10)
    source = spark.range(0, 3, 1, 1).selectExpr("id AS n")
    for engine in ("true", "false"):
        spark.conf.set("spark.pysparkPipeline.enabled", engine)
        rows = [tuple(row) for row in called(source).collect()]
        print("FUNCTIONS", pyspark_pipeline.explain(called(source)).converted, rows)
    for name, arguments in (("profile", ()), ("timeline", ("timeline.json",))):
        try:
            getattr(pyspark_pipeline, name)(frame, *arguments)
        except PipelineError as error:
            print("REFUSED", error)
    spark.stop()


if __name__ == "__main__":
    main()
