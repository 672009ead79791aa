"""The operators: one file each. This page is the contents; importing it registers them."""

from typing import Any

from pyspark_pipeline.operators import (
    aggregate,
    expand,
    joins,
    limit,
    parquet_scan,
    project,
    sort,
    top_n,
    union,
    windows,
)
from pyspark_pipeline.operators import filter as filter_rows
from pyspark_pipeline.operators import range as range_source
from pyspark_pipeline.operators.aggregates import aggregate_manifest
from pyspark_pipeline.operators.registry import (
    PipelineBuilder,
    decompose_node,
    implements,
    is_implemented,
    operator_manifest,
)
from pyspark_pipeline.operators.windows import window_manifest

__all__ = [
    "PipelineBuilder",
    "aggregate",
    "decompose_node",
    "expand",
    "filter_rows",
    "implements",
    "is_implemented",
    "joins",
    "limit",
    "manifest",
    "parquet_scan",
    "project",
    "range_source",
    "sort",
    "top_n",
    "union",
    "windows",
]


def manifest() -> dict[str, Any]:
    """Give what the engine runs of Spark's physical operators, aggregate and window functions."""
    return {"aggregates": aggregate_manifest(), "operators": operator_manifest(), "windows": window_manifest()}
