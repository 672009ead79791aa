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


@implements(Aggregate, execs=["HashAggregateExec", "SortAggregateExec"], pipeline=["AggregateSink", "AggregateSource"])
def decompose_aggregate(node: Aggregate, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Partial with keys: append to the child's pipeline. Else: close it with a sink, start one with the source.

    A grouping-only aggregation without results is partial too: it only removes duplicates early.
    """
    below = builder.decompose(node.child)
    Aggregator(node, builder.settings)  # refuses what it cannot run before anything runs
    if node.grouping and node.results is None and is_partial(node.calls):
        return [*below, StreamingAggregateFactory(node, builder.settings)]
    shared = AggregateContext(node, builder.settings)
    builder.add_pipeline([*below, AggregateSinkFactory(shared)])
    return [AggregateSourceFactory(shared)]
