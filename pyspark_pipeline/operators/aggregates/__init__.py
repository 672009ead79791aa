"""Aggregate functions: what each keeps per group, reads, hands on and gives. Importing registers them."""

from pyspark_pipeline.operators.aggregates import average, count, extremes, sums
from pyspark_pipeline.operators.aggregates.registry import aggregate_manifest, build_function

__all__ = ["aggregate_manifest", "average", "build_function", "count", "extremes", "sums"]
