"""Decomposes a fragment's plan into pipelines."""

from pyspark_pipeline.planner.build import FragmentBuilder
from pyspark_pipeline.planner.row_order import depends_on_row_order

__all__ = ["FragmentBuilder", "depends_on_row_order"]
