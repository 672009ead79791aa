"""Which operators an aggregation becomes: one that streams, or a blocking sink and source."""

from __future__ import annotations

from pyspark_pipeline.exec.operator import OperatorFactory
from pyspark_pipeline.operators.aggregate_blocking import (
    AggregateContext,
    AggregateSinkFactory,
    AggregateSourceFactory,
)
from pyspark_pipeline.operators.aggregate_streaming import StreamingAggregateFactory
from pyspark_pipeline.operators.aggregator import Aggregator, is_partial
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.plan.nodes import Aggregate
from pyspark_pipeline.plan.one_stage import in_one_stage


@implements(Aggregate, execs=["HashAggregateExec", "SortAggregateExec"], pipeline=["AggregateSink", "AggregateSource"])
def decompose_aggregate(node: Aggregate, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Partial with keys: append to the child's pipeline. Else: close it with a sink, start one with the source.

    An aggregation without calls blocks: it may be the one that removes the duplicates for a DISTINCT above.
    """
    if builder.dop == 1:  # with more drivers, groups meet by a local exchange, which the first stage makes cheaper
        node = in_one_stage(node)
    below = builder.decompose(node.child)
    Aggregator(node, builder.settings)  # refuses what it cannot run before anything runs
    if node.grouping and node.results is None and is_partial(node.calls):
        return [*builder.fit(below), StreamingAggregateFactory(node, builder.settings)]
    if _gives_each_group_once(node):
        below = builder.local_shuffle(below, node.grouping) if node.grouping else builder.gather(below)
    shared = AggregateContext(node, builder.settings)
    return builder.cut(below, AggregateSinkFactory(shared), AggregateSourceFactory(shared))


def _gives_each_group_once(node: Aggregate) -> bool:
    """Say whether the rows of a group must meet in one driver.

    They need not where another stage merges the buffers: without keys every buffer is merged later, with keys
    those of a stage that still reads arguments. A stage that only merges removes duplicates for the one above
    (DISTINCT), so it must.
    """
    if node.results is not None:
        return True
    return bool(node.grouping) and all(call.merges for call in node.calls)
