"""Decides whether the answer of a fragment depends on the order of the rows: then one driver runs an instance.

Several drivers of an instance (``spark.task.cpus`` above 1) process the rows in any order. In Spark one thread runs a
task: ``first``, ``last``, ``max_by`` of equal orderings, lists, the overflow of ``try_sum`` and samples follow its
order, and a row that breaks a rule raises only if a ``LIMIT`` above reaches it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from pyspark_pipeline.expressions import ExpressionSettings, can_raise
from pyspark_pipeline.plan.eval_mode import EvalMode
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import (
    Aggregate,
    AggregateCall,
    Filter,
    Fragment,
    Limit,
    Node,
    PartitionDependentNode,
    Project,
)
from pyspark_pipeline.plan.sorts import Sort, TopN
from pyspark_pipeline.plan.windows import Window, WindowGroupLimit
from pyspark_pipeline.plan.writes import WriteFiles

_ORDER_SENSITIVE = {"First", "Last", "MaxBy", "MinBy"}
_BLOCKING = (Sort, TopN, Window, WindowGroupLimit)


def depends_on_row_order(fragment: Fragment) -> bool:
    """Return whether the rows, or the error, of ``fragment`` or above depend on the order of the input."""
    expressions = ExpressionSettings.of(fragment.settings)
    pending = [] if fragment.ordered else [fragment.root]
    while pending:
        node = pending.pop()
        if isinstance(node, PartitionDependentNode):
            return True
        if isinstance(node, Aggregate) and any(map(_is_order_sensitive, node.calls)):
            return True
        if isinstance(node, WriteFiles) and node.partition_columns and not _is_sorted(node.child):
            return True
        if isinstance(node, Limit) and any(can_raise(exprs, expressions) for exprs in _evaluated_below(node)):
            return True
        pending.extend(node.children)
    return fragment.ordered


def _is_order_sensitive(call: AggregateCall) -> bool:
    """Return whether the value depends on the order of the rows, apart from the last digits of doubles."""
    can_overflow = call.function == "Sum" and call.type.kind != "double" and call.eval_mode is EvalMode.TRY
    has_ties = call.function == "ListAgg" and not (call.orders and call.is_sorted_by_first)
    return can_overflow or has_ties or call.function in _ORDER_SENSITIVE


def _is_sorted(node: Node) -> bool:
    """Return whether a sort orders the rows of ``node``: one driver runs it and the operators above."""
    while isinstance(node, (Project, Filter)):
        node = node.child
    return isinstance(node, Sort)


def _evaluated_below(limit: Limit) -> Iterator[list[Expr]]:
    """Yield the expressions of each operator below ``limit`` that stops when the limit has its rows."""
    first: Node = limit.child
    while isinstance(first, Project):  # evaluated above the limit, for the rows taken
        first = first.child
    pending = [first]
    while pending:
        node = pending.pop()
        if isinstance(node, Aggregate):
            yield list(node.results or ())
        elif node.children and not isinstance(node, _BLOCKING):
            yield list(_expressions([getattr(node, entry.name) for entry in fields(node)]))
            pending.extend(node.children)


def _expressions(value: Any) -> Iterator[Expr]:
    """Yield the expressions in the tuples of ``value``, however deep."""
    if isinstance(value, Expr):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _expressions(item)
