"""Spark SQL types as the engine knows them, and their Arrow form."""

from pyspark_pipeline.datatypes.types import DataType, parse_type

__all__ = ["DataType", "parse_type"]
