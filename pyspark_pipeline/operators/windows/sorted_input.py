"""The input of a window: partitions whole in one driver each, their rows next to each other and in order."""

from __future__ import annotations

from pyspark_pipeline.exec.operator import OperatorFactory
from pyspark_pipeline.operators.registry import PipelineBuilder
from pyspark_pipeline.operators.sort import DealtSort, SortContext, cut_at_sort
from pyspark_pipeline.plan.nodes import Node
from pyspark_pipeline.plan.sorts import Sort
from pyspark_pipeline.plan.windows import Window, WindowGroupLimit, WindowSpec


def sorted_input(spec: WindowSpec, child: Node, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Give an open pipeline with the rows of ``child`` as the window needs them.

    Rows of several drivers are dealt by the keys of the partition and each sorts its own; without such keys they
    are merged. What comes in the order of another window is left as it is where that order is enough.
    """
    below = builder.decompose(child)
    if _has_order(child, spec):
        return below
    node = Sort(output=child.output, keys=spec.sort_keys, child=child)
    if spec.partition:
        return cut_at_sort(DealtSort(node, builder.settings), builder.local_shuffle(below, spec.partition), builder)
    if spec.order:
        return cut_at_sort(SortContext(node, builder.settings), below, builder)
    return builder.gather(below)


def _has_order(child: Node, spec: WindowSpec) -> bool:
    """Say whether ``child`` is a window over the same partitions whose order begins with that of ``spec``."""
    if not isinstance(child, Window | WindowGroupLimit):
        return False
    return child.spec.partition == spec.partition and child.spec.order[: len(spec.order)] == spec.order
