"""The supported Spark SQL types and their Arrow types."""

from pyspark_pipeline.datatypes.types import DataType, parse_type

__all__ = ["DataType", "parse_type"]
