"""Spark expressions over Arrow chunks, exactly as Spark evaluates them.

Importing the family modules registers their functions.
"""

from pyspark_pipeline.expressions import (
    arithmetic,
    bits,
    cast,
    comparison,
    conditional,
    date_format,
    date_parse,
    dates,
    decimal_arithmetic,
    decimal_sign,
    digests,
    hashes,
    like,
    logic,
    mathematics,
    misc,
    rounding,
    strings,
    text_build,
    text_regex,
    text_search,
    timestamps,
)
from pyspark_pipeline.expressions.compile import (
    CompiledExpressions,
    CompiledPredicate,
    can_raise,
    compile_expressions,
    compile_predicate,
    gains_from_unscaled,
)
from pyspark_pipeline.expressions.failures import first_failure
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
    "date_format",
    "date_parse",
    "dates",
    "decimal_arithmetic",
    "decimal_sign",
    "digests",
    "first_failure",
    "function",
    "gains_from_unscaled",
    "hashes",
    "like",
    "logic",
    "manifest",
    "mathematics",
    "misc",
    "rounding",
    "strings",
    "text_build",
    "text_regex",
    "text_search",
    "timestamps",
]
