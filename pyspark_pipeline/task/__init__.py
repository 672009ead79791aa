"""One fragment instance: bytes and batches in, batches out. Independent of Spark."""

from pyspark_pipeline.task.run import needs_calling_thread, run_fragment

__all__ = ["needs_calling_thread", "run_fragment"]
