"""The sorted input of a window: each partition is in one driver, its rows contiguous and in order."""

from __future__ import annotations

from pyspark_pipeline.exec.operator import OperatorFactory
from pyspark_pipeline.operators.registry import PipelineBuilder, output_order
from pyspark_pipeline.operators.sorting.sort import PartitionedSort, SortContext, break_at_sort
from pyspark_pipeline.plan.nodes import Node
from pyspark_pipeline.plan.sorts import Sort
from pyspark_pipeline.plan.windows import WindowSpec


def sorted_input(spec: WindowSpec, child: Node, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Return an open pipeline with the rows of ``child``, partitioned and sorted for the window.

    Rows are partitioned among the drivers by the partition keys and each driver sorts its own; without such keys
    the drivers' rows are merged. The output of another window is not sorted again if its order is sufficient.
    """
    below = builder.decompose(child)
    if _has_order(child, spec):
        return below
    node = Sort(output=child.output, keys=spec.sort_keys, child=child)
    if spec.partition:
        context = PartitionedSort(node, builder.settings)
        return break_at_sort(context, builder.local_shuffle(below, spec.partition), builder)
    if spec.order:
        return break_at_sort(SortContext(node, builder.settings), below, builder)
    return builder.gather(below)


def _has_order(child: Node, spec: WindowSpec) -> bool:
    """Return whether the output of ``child`` has the partitions of ``spec`` and an order that begins with its order."""
    given = output_order(child)
    return given is not None and given.partition == spec.partition and given.order[: len(spec.order)] == spec.order
