"""Window functions. Importing registers the operators and the functions."""

from pyspark_pipeline.operators.windows import group_limit, ranking, totals, window
from pyspark_pipeline.operators.windows.registry import window_manifest

__all__ = ["group_limit", "ranking", "totals", "window", "window_manifest"]
