"""Union: the pipeline of the input that this instance runs, or of all inputs combined; it has no operator."""

from __future__ import annotations

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.exec.operator import OperatorFactory
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.plan.properties import RequiredOutput
from pyspark_pipeline.plan.unions import Union


def _required_inputs(node: Union, required: RequiredOutput) -> list[RequiredOutput]:
    """Require the columns read above; a local exchange may concatenate the inputs' decimals, which must be plain."""
    return [RequiredOutput(unused=required.unused)] * len(node.inputs)


@implements(Union, execs=["UnionExec"], pipeline=["Union"], requires=_required_inputs)
def decompose_union(node: Union, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Decompose the input that the instance runs, or all inputs if the union keeps their partitions."""
    wanted = [field.type for field in node.output]
    for child in node.inputs:
        if [field.type for field in child.output] != wanted:
            raise UnsupportedPlanError("the inputs of a union have different types")
    place = builder.active_input(node)
    if place is None:
        return builder.union_all([builder.decompose(child) for child in node.inputs])
    return builder.decompose(node.inputs[place])
