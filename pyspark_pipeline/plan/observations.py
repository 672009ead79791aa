"""The CollectMetrics node: aggregates of rows that pass, the metrics of ``DataFrame.observe``."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pipeline.plan.nodes import Aggregate, AggregateCall, Field, Node, PartitionDependentNode


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectMetrics(PartitionDependentNode):
    """Emits the rows of ``child`` unchanged, and computes ``calls`` (Partial) over them, which the task reports."""

    calls: tuple[AggregateCall, ...]
    child: Node

    @property
    def aggregate(self) -> Aggregate:
        """The partial aggregation of all rows of the child."""
        types = (kind for call in self.calls for kind in call.buffer)
        output = tuple(Field(id=i, name=f"b{i}", type=kind) for i, kind in enumerate(types))
        return Aggregate(output=output, grouping=(), calls=self.calls, results=None, child=self.child)
