"""Coalesce: the pipeline of its input; it has no operator, as the task assigns several partitions to the instance."""

from __future__ import annotations

from pyspark_pipeline.exec.operator import OperatorFactory
from pyspark_pipeline.expressions import ExpressionSettings
from pyspark_pipeline.operators.registry import Ordinals, PipelineBuilder, implements
from pyspark_pipeline.plan.coalesces import Coalesce
from pyspark_pipeline.plan.nodes import Node
from pyspark_pipeline.plan.properties import require_unchanged


def _lineage(node: Coalesce, columns: Ordinals, _settings: ExpressionSettings) -> tuple[Node, Ordinals]:
    return node.child, columns


@implements(Coalesce, execs=["CoalesceExec"], pipeline=["Coalesce"], requires=require_unchanged, lineage=_lineage)
def decompose_coalesce(node: Coalesce, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Return the child's pipeline."""
    return builder.decompose(node.child)
