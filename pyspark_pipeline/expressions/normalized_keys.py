"""The normalized key of a nested value, by which operators compare it; the planner adds it, no query contains it."""

from __future__ import annotations

from pyspark_pipeline.expressions.nested import plain_array
from pyspark_pipeline.expressions.registry import ExpressionSettings, Kernel, case, function
from pyspark_pipeline.kernels.normalized_key import normalized_keys
from pyspark_pipeline.plan.expr import Call


@function("NormalizedKey", [case(["array"], result=["binary"]), case(["struct"], result=["binary"])])
def _normalized_key(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: normalized_keys(plain_array(values[0], rows)))
