"""Cuts a fragment's plan into pipelines."""

from pyspark_pipeline.planner.build import FragmentBuilder

__all__ = ["FragmentBuilder"]
