"""Decomposition of an aggregation into operators: a streaming one, or a blocking sink and source."""

from __future__ import annotations

from pyspark_pipeline.exec.operator import OperatorFactory
from pyspark_pipeline.operators.aggregation.aggregator import AggregateProgram, is_partial
from pyspark_pipeline.operators.aggregation.before_expand import group_before_expand
from pyspark_pipeline.operators.aggregation.blocking import (
    AggregateContext,
    AggregateSinkFactory,
    AggregateSourceFactory,
)
from pyspark_pipeline.operators.aggregation.functions import build_function
from pyspark_pipeline.operators.aggregation.functions.registry import AggregateFunction
from pyspark_pipeline.operators.aggregation.functions.state import StatePool
from pyspark_pipeline.operators.aggregation.grouping_sets import GroupingSetsFactory
from pyspark_pipeline.operators.aggregation.streaming import StreamingAggregateFactory
from pyspark_pipeline.operators.project import ProjectFactory
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.plan.nodes import Aggregate
from pyspark_pipeline.plan.normalized_keys import with_normalized_keys
from pyspark_pipeline.plan.one_stage import merge_stages

_EXECS = ["HashAggregateExec", "ObjectHashAggregateExec", "SortAggregateExec", "MergingSessionsExec"]


@implements(Aggregate, execs=_EXECS, pipeline=["AggregateSink", "AggregateSource"])
def decompose_aggregate(node: Aggregate, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append a partial aggregation with keys that may flush to the child's pipeline; break the pipeline for any other.

    An aggregation without calls blocks: it may be the one that removes the duplicates for a DISTINCT above.
    """
    if builder.dop == 1:  # with more drivers, groups pass a local exchange, which the first stage makes cheaper
        merged = merge_stages(node)
        if all(function.is_kept_by_merge for function in _functions(merged, builder)):
            node = merged
    merging = group_before_expand(node, builder.settings)
    if merging is not None:
        below = builder.adapt_parallelism(builder.decompose(node.child.children[0]))
        return [*below, GroupingSetsFactory(node, merging, builder.settings)]
    below = builder.decompose(node.child)
    made, restored = with_normalized_keys(node)
    program = AggregateProgram(made, builder.settings)
    is_cut = any(function.is_cut_by_flush for function in _functions(node, builder))
    above = [] if restored is None else [ProjectFactory(restored, builder.settings)]
    if node.grouping and node.results is None and is_partial(node.calls) and not is_cut:
        return [*builder.adapt_parallelism(below), StreamingAggregateFactory(program), *above]
    if _needs_whole_groups(node):
        below = builder.local_shuffle(below, node.grouping) if node.grouping else builder.gather(below)
    shared = AggregateContext(program)
    return [*builder.break_pipeline(below, AggregateSinkFactory(shared), AggregateSourceFactory(shared)), *above]


def _functions(node: Aggregate, builder: PipelineBuilder) -> list[AggregateFunction]:
    return [build_function(call, StatePool(), builder.settings) for call in node.calls]


def _needs_whole_groups(node: Aggregate) -> bool:
    """Return whether one driver must get all rows of a group.

    This is not needed if another stage merges the buffers: without keys all buffers are merged later, with keys those
    of a stage that reads arguments. A stage that only merges removes duplicates for the stage above (DISTINCT) and
    needs it.
    """
    if node.results is not None:
        return True
    return bool(node.grouping) and all(call.merges for call in node.calls)
