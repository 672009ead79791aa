"""Which pipelines a join becomes: one that builds, unless the built side is a broadcast, and the probe's."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.operators.joins.build import JoinBuildFactory
from pyspark_pipeline.operators.joins.build_side import BuildSide
from pyspark_pipeline.operators.joins.probe import JoinProbeFactory
from pyspark_pipeline.operators.joins.shared import JoinShared
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.plan.broadcasts import BroadcastSource
from pyspark_pipeline.plan.joins import HashJoin, Join, NestedLoopJoin


@implements(
    HashJoin,
    execs=["SortMergeJoinExec", "ShuffledHashJoinExec", "BroadcastHashJoinExec"],
    pipeline=["HashJoinBuild", "HashJoinProbe"],
)
def decompose_hash_join(node: HashJoin, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Build one side in pipelines of its own; append the probe to the other side's."""
    return _decompose(node, builder, "HashJoin")


@implements(
    NestedLoopJoin,
    execs=["BroadcastNestedLoopJoinExec", "CartesianProductExec"],
    pipeline=["NestedLoopJoinBuild", "NestedLoopJoinProbe"],
)
def decompose_nested_loop_join(node: NestedLoopJoin, builder: PipelineBuilder) -> list[OperatorFactory]:
    """As a hash join in whose table every row has the same key."""
    return _decompose(node, builder, "NestedLoopJoin")


def _decompose(node: Join, builder: PipelineBuilder, name: str) -> list[OperatorFactory]:
    if isinstance(node.build, BroadcastSource):
        shared = _of_broadcast(node, node.build, builder)
    else:
        shared = JoinShared(node, builder.settings)
        builder.add_pipeline([*builder.decompose(node.build), JoinBuildFactory(shared, f"{name}Build")])
    return [*builder.decompose(node.probe), JoinProbeFactory(shared, f"{name}Probe")]


def _of_broadcast(node: Join, source: BroadcastSource, builder: PipelineBuilder) -> JoinShared:
    """Let the first probe driver get the built side that this worker's tasks share; the first task makes it."""
    if node.shape.marks_build:
        raise UnsupportedPlanError("rows of a broadcast side that have no match cannot be given by one task")

    def make(chunks: Sequence[Chunk]) -> BuildSide:
        collector = shared.collector()
        for chunk in chunks:
            collector.add(chunk)
        return shared.build_side([collector])

    def fetch() -> BuildSide:
        columns = shared.columns
        key = ("join", repr(shared.build_keys), columns.kept, columns.pairs, shared.settings)
        return builder.broadcast_value(source, key, make)

    shared = JoinShared(node, builder.settings, fetch)
    return shared
