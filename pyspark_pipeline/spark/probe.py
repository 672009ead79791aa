"""The small job of ``pyspark-pipeline doctor``: one line for the driver's Python, then one for each worker's.

A last line names the reason if the extension did not start.
"""

from __future__ import annotations

import sys
from typing import Any

from pyspark.sql import SparkSession

from pyspark_pipeline.spark.install import install

_TASKS = 8


def describe() -> str:
    """Return this process's host, Python version, and the versions of the packages the engine needs."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    def of(name: str) -> str:
        try:
            return version(name)
        except PackageNotFoundError:
            return "missing"

    packages = " ".join(f"{name} {of(name)}" for name in ("pyspark-pipeline", "pyarrow", "pandas", "numba"))
    return f"{platform.node()} python {platform.python_version()} {packages}"


def obstacle_of(spark: SparkSession) -> str:
    """Return the reason why the extension converts nothing in this context; empty if it can."""
    jvm: Any = spark._jvm
    return str(jvm.org.apache.spark.sql.pysparkpipeline.Readiness.obstacleText())


def main(master: str) -> None:
    """Start a session with the extension on ``master`` and print the lines."""
    builder = SparkSession.builder.master(master).appName("pyspark-pipeline doctor")
    spark = install(builder.config("spark.ui.enabled", "false")).getOrCreate()
    print("probe: " + describe())
    workers = spark.sparkContext.parallelize(range(_TASKS), _TASKS).map(lambda _: describe()).collect()
    for worker in workers:
        print("probe: " + worker)
    obstacle = obstacle_of(spark)
    if obstacle:
        print("obstacle: " + obstacle)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
