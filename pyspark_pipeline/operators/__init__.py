"""The operators, one file each. Importing this package registers them."""

from typing import Any

from pyspark_pipeline.operators import (
    coalesce,
    collect_metrics,
    expand,
    generate,
    joins,
    limit,
    local_rows,
    nondeterministic,
    project,
    sample,
    union,
    windows,
)
from pyspark_pipeline.operators import filter as filter_rows
from pyspark_pipeline.operators import range as range_source
from pyspark_pipeline.operators.aggregation import aggregate
from pyspark_pipeline.operators.aggregation.functions import aggregate_manifest
from pyspark_pipeline.operators.nondeterministic import nondeterministic_manifest
from pyspark_pipeline.operators.python_functions import eval_iterator, eval_python, groups, map_python, table_python
from pyspark_pipeline.operators.registry import (
    PipelineBuilder,
    decompose_node,
    implements,
    is_implemented,
    operator_manifest,
    required_inputs,
)
from pyspark_pipeline.operators.scan import file_scan
from pyspark_pipeline.operators.scan.formats import format_manifest
from pyspark_pipeline.operators.sorting import sort, top_n
from pyspark_pipeline.operators.windows import window_manifest
from pyspark_pipeline.operators.writes import write_files

__all__ = [
    "PipelineBuilder",
    "aggregate",
    "coalesce",
    "collect_metrics",
    "decompose_node",
    "eval_iterator",
    "eval_python",
    "expand",
    "file_scan",
    "filter_rows",
    "generate",
    "groups",
    "implements",
    "is_implemented",
    "joins",
    "limit",
    "local_rows",
    "map_python",
    "manifest",
    "nondeterministic",
    "project",
    "range_source",
    "required_inputs",
    "sample",
    "sort",
    "table_python",
    "top_n",
    "union",
    "windows",
    "write_files",
]


def manifest() -> dict[str, Any]:
    """Return the supported subset of Spark's physical operators, file formats and functions other than expressions."""
    return {
        "aggregates": aggregate_manifest(),
        "formats": format_manifest(),
        "operators": operator_manifest(),
        "nondeterministic": nondeterministic_manifest(),
        "windows": window_manifest(),
    }
