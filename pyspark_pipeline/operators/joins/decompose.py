"""The decomposition of a join: a build pipeline, unless the build side is a broadcast, and a probe in the other."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.memory import MemoryTracker
from pyspark_pipeline.operators.joins.build import JoinBuildFactory
from pyspark_pipeline.operators.joins.build_filter import drop_unmatched
from pyspark_pipeline.operators.joins.build_side import BuildSide, build_bytes
from pyspark_pipeline.operators.joins.columns import required_inputs
from pyspark_pipeline.operators.joins.key_conditions import key_condition
from pyspark_pipeline.operators.joins.key_lineage import present, probe_lineage, trace_column_lineage
from pyspark_pipeline.operators.joins.probe import JoinProbeFactory
from pyspark_pipeline.operators.joins.row_filter import RuntimeFilterFactory
from pyspark_pipeline.operators.joins.shared import BroadcastSide, SharedJoinState
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.runtime_filters import BuildFilter, RowFilter, ScanFilter
from pyspark_pipeline.operators.scan.key_tests import is_testable
from pyspark_pipeline.plan.broadcasts import BroadcastSource
from pyspark_pipeline.plan.expr import ColumnRef, Expr
from pyspark_pipeline.plan.joins import HashJoin, Join, NestedLoopJoin
from pyspark_pipeline.plan.nodes import Settings


@implements(
    HashJoin,
    execs=["SortMergeJoinExec", "ShuffledHashJoinExec", "BroadcastHashJoinExec"],
    pipeline=["HashJoinBuild", "HashJoinProbe"],
    requires=required_inputs,
    lineage=probe_lineage,
)
def decompose_hash_join(node: HashJoin, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Add a build pipeline for one side; append the probe to the pipeline of the other side."""
    return _decompose(node, builder, "HashJoin")


@implements(
    NestedLoopJoin,
    execs=["BroadcastNestedLoopJoinExec", "CartesianProductExec"],
    pipeline=["NestedLoopJoinBuild", "NestedLoopJoinProbe"],
    requires=required_inputs,
    lineage=probe_lineage,
)
def decompose_nested_loop_join(node: NestedLoopJoin, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Decompose like a hash join whose rows all have the same key."""
    return _decompose(node, builder, "NestedLoopJoin")


def _decompose(node: Join, builder: PipelineBuilder, name: str) -> list[OperatorFactory]:
    if isinstance(node.build, BroadcastSource):
        shared = _from_broadcast(node, node.build, builder)
    else:
        shared = SharedJoinState(node, builder.settings, builder.required_output(node))
        builder.add_pipeline([*builder.decompose(node.build), JoinBuildFactory(shared, f"{name}Build")])
    if isinstance(node, HashJoin) and builder.settings.options.join_runtime_filter_enabled:
        _offer_filters(node, shared, builder)
    below = builder.decompose(node.probe)
    offered = builder.runtime_filters.row_filters(node)
    if offered:
        below.append(RuntimeFilterFactory(offered, shared))
    return [*below, JoinProbeFactory(shared, f"{name}Probe")]


def _offer_filters(node: HashJoin, shared: SharedJoinState, builder: PipelineBuilder) -> None:
    """Register runtime filters of the build keys for scans and joins of the probe side, before it is decomposed."""
    lineage = trace_column_lineage(node, shared.settings, builder.active_input)
    if lineage.lowest_join is not None:
        builder.runtime_filters.add_row_filter(lineage.lowest_join, RowFilter(shared, lineage.join_columns))
    if lineage.build_join is not None and shared.is_broadcast:
        builder.runtime_filters.add_build_filter(lineage.build_join, BuildFilter(shared, lineage.build_columns))
    for target in lineage.scans:
        scan = target.scan
        if is_testable(scan, target.columns):
            builder.runtime_filters.add_row_filter(scan, RowFilter(shared, present(target.columns)))
        for place, ordinal in enumerate(target.columns):
            if ordinal is not None and ordinal < scan.num_data_columns:
                column = ColumnRef(type=scan.output[ordinal].type, ordinal=ordinal)
                condition = partial(_key_condition, shared, place, column, builder.settings)
                filter_ = ScanFilter(built=shared.bridge, condition=condition, is_awaited=target.is_separate)
                builder.runtime_filters.add_scan_filter(scan, filter_)


def _key_condition(shared: SharedJoinState, place: int, column: ColumnRef, settings: Settings) -> Expr | None:
    """Return the condition that the build keys imply for ``column``, which is key ``place``; None if there is none."""
    table = shared.built_table()
    most_values: int = settings.options.join_runtime_filter_in_list_values
    return None if table is None else key_condition(table, place, column, most_values)


def _from_broadcast(node: Join, source: BroadcastSource, builder: PipelineBuilder) -> SharedJoinState:
    """Return a state whose first probe driver fetches the build side, which is built once per worker process.

    Joins above whose keys come from it may have offered filters of its rows.
    """
    if node.shape.tracks_build_matches:
        raise UnsupportedPlanError("rows of a broadcast side that have no match cannot be emitted by one task")

    filters = builder.runtime_filters.build_filters(node)

    def make(memory: MemoryTracker, chunks: Sequence[Chunk]) -> BuildSide:
        collector = shared.collector()
        for chunk in drop_unmatched(chunks, filters):
            collector.add(chunk)
        memory.try_reserve(collector.nbytes + build_bytes(collector.nbytes, collector.rows), may_reclaim=False)
        side = shared.build_side([collector])
        memory.reserve(side.nbytes)
        memory.reserve(0)
        return side

    def key() -> Hashable:
        columns, filtered = shared.columns, tuple(each.identity for each in filters)
        return "join", repr(shared.build_keys), columns.kept, columns.pairs, shared.settings, filtered

    def identity() -> Hashable:
        return builder.broadcast_id(source), key()

    def fetch(memory: MemoryTracker, user: MemoryTracker) -> BuildSide:
        for each in filters:
            each.keys.open(memory)
        return builder.broadcast_value(source, key(), partial(make, memory), user)

    broadcast = BroadcastSide(fetch=fetch, release=builder.release_broadcasts, identity=identity)
    shared = SharedJoinState(node, builder.settings, builder.required_output(node), broadcast)
    return shared
