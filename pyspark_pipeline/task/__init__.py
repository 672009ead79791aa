"""One fragment instance: bytes and batches in, batches out. Independent of Spark."""

from pyspark_pipeline.task.run import run_fragment

__all__ = ["run_fragment"]
