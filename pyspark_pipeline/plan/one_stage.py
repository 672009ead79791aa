"""The merge of a partial and a final aggregation without an exchange between them."""

from __future__ import annotations

from dataclasses import replace

from pyspark_pipeline.plan.expr import ColumnRef
from pyspark_pipeline.plan.nodes import Aggregate


def merge_stages(node: Aggregate) -> Aggregate:
    """Return a final aggregation merged with the partial one right below it; return any other node unchanged.

    Spark plans both even if the rows of a group are already in one partition (e.g. above a join by the same keys).
    """
    first = node.child
    if not isinstance(first, Aggregate) or not _finishes(node, first):
        return node
    calls = tuple(replace(call, mode="Complete") for call in first.calls)
    return replace(node, grouping=first.grouping, calls=calls, child=first.child)


def _finishes(node: Aggregate, first: Aggregate) -> bool:
    """Return whether ``node`` finalizes exactly the groups and calls of ``first``."""
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
