"""Window functions. Importing registers the operators and the functions."""

from pyspark_pipeline.operators.windows import aggregates, group_limit, nth_value, ranking, sessions, window
from pyspark_pipeline.operators.windows.registry import window_manifest

__all__ = ["aggregates", "group_limit", "nth_value", "ranking", "sessions", "window", "window_manifest"]
