"""Union: the pipeline of the one input that this instance runs, or those of all into one; no operator of its own."""

from __future__ import annotations

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.exec.operator import OperatorFactory
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.plan.unions import Union


@implements(Union, execs=["UnionExec"], pipeline=["Union"])
def decompose_union(node: Union, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Go on with the input that the instance runs; one that keeps its inputs' partitions runs them all."""
    wanted = [field.type for field in node.output]
    for child in node.inputs:
        if [field.type for field in child.output] != wanted:
            raise UnsupportedPlanError("the inputs of a union have different types")
    place = builder.branch(node)
    if place is None:
        return builder.unite([builder.decompose(child) for child in node.inputs])
    return builder.decompose(node.inputs[place])
