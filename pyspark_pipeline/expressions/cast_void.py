"""Casts of the void type: NULL of the target type (Spark: Cast.scala)."""

from __future__ import annotations

import pyarrow as pa

from pyspark_pipeline.expressions.registry import ALL_KINDS, ExpressionSettings, Kernel, case, function
from pyspark_pipeline.plan.expr import Call


@function("Cast", [case(["void"], result=ALL_KINDS)])
def _typed_null(call: Call, settings: ExpressionSettings) -> Kernel:
    return Kernel(run=lambda values, rows: pa.nulls(rows, call.type.arrow))
