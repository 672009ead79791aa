"""Which pipelines a join becomes: one that builds, unless the built side is a broadcast, and the probe's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.memory import MemoryTracker
from pyspark_pipeline.operators.joins.build import JoinBuildFactory
from pyspark_pipeline.operators.joins.build_side import BuildSide, build_bytes
from pyspark_pipeline.operators.joins.key_conditions import key_condition
from pyspark_pipeline.operators.joins.probe import JoinProbeFactory
from pyspark_pipeline.operators.joins.row_filter import RuntimeFilterFactory
from pyspark_pipeline.operators.joins.shared import BroadcastSide, JoinShared
from pyspark_pipeline.operators.joins.trace import trace_keys
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.runtime_filters import RowFilter, ScanFilter
from pyspark_pipeline.plan.broadcasts import BroadcastSource
from pyspark_pipeline.plan.expr import ColumnRef, Expr
from pyspark_pipeline.plan.joins import HashJoin, Join, NestedLoopJoin
from pyspark_pipeline.plan.nodes import Settings


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
    if isinstance(node, HashJoin) and builder.settings.options["join.runtimeFilter.enabled"]:
        _offer_filters(node, shared, builder)
    below = builder.decompose(node.probe)
    offered = builder.runtime_filters.of_rows(node)
    if offered:
        below.append(RuntimeFilterFactory(offered, shared))
    return [*below, JoinProbeFactory(shared, f"{name}Probe")]


def _offer_filters(node: HashJoin, shared: JoinShared, builder: PipelineBuilder) -> None:
    """Offer the keys that will be built to what is further down the probe side, which is not cut yet."""
    trace = trace_keys(node, shared.settings, builder.branch)
    if trace.lowest is not None:
        builder.runtime_filters.offer_rows(trace.lowest, RowFilter(shared, trace.below))
    for reached in trace.scans:
        scan = reached.scan
        for place, ordinal in enumerate(reached.columns):
            if ordinal is not None and ordinal < scan.num_data_columns:
                column = ColumnRef(type=scan.output[ordinal].type, ordinal=ordinal)
                condition = partial(_learned, shared, place, column, builder.settings)
                offered = ScanFilter(built=shared.bridge, condition=condition, is_awaited=reached.is_apart)
                builder.runtime_filters.offer_scan(scan, offered)


def _learned(shared: JoinShared, place: int, column: ColumnRef, settings: Settings) -> Expr | None:
    """Give what the built keys say of the column that is their key ``place``."""
    table = shared.built_table()
    most_values: int = settings.options["join.runtimeFilter.inListValues"]
    return None if table is None else key_condition(table, place, column, most_values)


def _of_broadcast(node: Join, source: BroadcastSource, builder: PipelineBuilder) -> JoinShared:
    """Let the first probe driver get the built side that this worker's tasks share; the first task makes it."""
    if node.shape.marks_build:
        raise UnsupportedPlanError("rows of a broadcast side that have no match cannot be given by one task")

    def make(memory: MemoryTracker, chunks: Sequence[Chunk]) -> BuildSide:
        collector = shared.collector()
        for chunk in chunks:
            collector.add(chunk)
        memory.try_hold(collector.nbytes + build_bytes(collector.nbytes, collector.rows), may_ask=False)
        side = shared.build_side([collector])
        memory.hold(side.nbytes)
        memory.hold(0)
        return side

    def fetch(memory: MemoryTracker, user: MemoryTracker) -> BuildSide:
        columns = shared.columns
        key = ("join", repr(shared.build_keys), columns.kept, columns.pairs, shared.settings)
        return builder.broadcast_value(source, key, partial(make, memory), user)

    shared = JoinShared(node, builder.settings, BroadcastSide(fetch=fetch, leave=builder.leave_broadcasts))
    return shared
