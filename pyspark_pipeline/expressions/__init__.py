"""Spark expressions over Arrow chunks, exactly as Spark evaluates them.

The families are the contents: importing them registers their functions.
"""

from pyspark_pipeline.expressions import (
    arithmetic,
    bits,
    cast,
    comparison,
    conditional,
    dates,
    decimal_arithmetic,
    decimal_sign,
    hashes,
    like,
    logic,
    misc,
    strings,
)
from pyspark_pipeline.expressions.compile import (
    CompiledExpressions,
    CompiledPredicate,
    can_raise,
    compile_expressions,
    compile_predicate,
    gains_from_narrow,
)
from pyspark_pipeline.expressions.registry import ExpressionSettings, function, manifest

__all__ = [
    "CompiledExpressions",
    "CompiledPredicate",
    "ExpressionSettings",
    "arithmetic",
    "bits",
    "can_raise",
    "cast",
    "comparison",
    "compile_expressions",
    "compile_predicate",
    "conditional",
    "dates",
    "decimal_arithmetic",
    "decimal_sign",
    "function",
    "gains_from_narrow",
    "hashes",
    "like",
    "logic",
    "manifest",
    "misc",
    "strings",
]
