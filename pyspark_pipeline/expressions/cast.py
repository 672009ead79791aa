"""Casts, by the kinds of their source and target types."""

from pyspark_pipeline.expressions import (
    cast_decimal,
    cast_moments,
    cast_numeric,
    cast_string,
    cast_text,
    cast_time,
    cast_time_of_day,
    cast_timestamp,
    cast_void,
)

__all__ = [
    "cast_decimal",
    "cast_moments",
    "cast_numeric",
    "cast_string",
    "cast_text",
    "cast_time",
    "cast_time_of_day",
    "cast_timestamp",
    "cast_void",
]
