"""Two stages of an aggregation that no exchange separates, as one."""

from __future__ import annotations

from dataclasses import replace

from pyspark_pipeline.plan.expr import ColumnRef
from pyspark_pipeline.plan.nodes import Aggregate


def in_one_stage(node: Aggregate) -> Aggregate:
    """Merge a final aggregation with the partial one right below it; give any other unchanged.

    Spark plans both also where the rows of a group are together already (behind a join by the same keys, say).
    """
    first = node.child
    if not isinstance(first, Aggregate) or not _finishes(node, first):
        return node
    calls = tuple(replace(call, mode="Complete") for call in first.calls)
    return replace(node, grouping=first.grouping, calls=calls, child=first.child)


def _finishes(node: Aggregate, first: Aggregate) -> bool:
    """Say whether ``node`` gives the results of what ``first`` begins, and nothing else."""
    keys = [key.ordinal for key in node.grouping if isinstance(key, ColumnRef)]
    return (
        node.results is not None
        and first.results is None
        and keys == list(range(len(first.grouping)))
        and len(node.grouping) == len(first.grouping)
        and all(call.mode == "Final" for call in node.calls)
        and all(call.mode == "Partial" for call in first.calls)
        and [call.function for call in node.calls] == [call.function for call in first.calls]
    )
