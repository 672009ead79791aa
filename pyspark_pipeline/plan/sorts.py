"""Nodes that order rows: Sort and TopN, and how they come from the wire."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.plan.expr import ColumnRef, Expr
from pyspark_pipeline.plan.nodes import ExchangeSource, Field, Node, Project
from pyspark_pipeline.plan.registry import decodes
from pyspark_pipeline.plan.wire_expr import ExpressionDecoder, Json, strip_alias

_DIRECTIONS = {"Ascending": False, "Descending": True}
_NULL_ORDERINGS = {"NullsFirst": True, "NullsLast": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class SortKey:
    """One key: an expression bound to the child, its direction, and where NULL stands."""

    expr: Expr
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort(Node):
    """All rows of this instance, ordered by ``keys``; rows of equal keys in the order they came.

    ``gets_runs`` says that the rows come sorted from each sender of the input that is the child, and are but merged.
    """

    keys: tuple[SortKey, ...]
    child: Node
    gets_runs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TopN(Node):
    """Of the rows ordered by ``keys`` those from row ``offset`` (from 0) up to row ``limit``, in order.

    As in Spark's ``TakeOrderedAndProjectExec``, ``limit`` counts the rows that the offset leaves out too.
    """

    limit: int
    keys: tuple[SortKey, ...]
    child: Node
    offset: int = 0


def decode_sort_keys(nodes: Sequence[Json], decoder: ExpressionDecoder) -> tuple[SortKey, ...]:
    """Decode ``SortOrder`` expressions; raise :class:`UnsupportedPlanError` for an ordering not known."""
    return tuple(_sort_key(node, decoder) for node in nodes)


def _sort_key(node: Json, decoder: ExpressionDecoder) -> SortKey:
    fields = node["fields"]
    direction, nulls = fields["direction"], fields["nullOrdering"]
    if direction not in _DIRECTIONS or nulls not in _NULL_ORDERINGS:
        raise UnsupportedPlanError(f"sort order {direction} {nulls} is not known")
    return SortKey(
        expr=decoder.decode(node["args"][0]), descending=_DIRECTIONS[direction], nulls_first=_NULL_ORDERINGS[nulls]
    )


@decodes("SortExec")
def _sort(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    child = children[0]
    keys = decode_sort_keys(node["fields"]["sortOrder"], ExpressionDecoder(child.output))
    if node.get("getsRuns") and isinstance(child, ExchangeSource):
        return Sort(output=output, keys=keys, child=replace(child, joins_senders=False), gets_runs=True)
    return Sort(output=output, keys=keys, child=child)


@decodes("TakeOrderedAndProjectExec")
def _top_n(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    child, fields = children[0], node["fields"]
    decoder = ExpressionDecoder(child.output)
    top = TopN(
        output=child.output,
        limit=fields["limit"],
        offset=fields.get("offset", 0),
        keys=decode_sort_keys(fields["sortOrder"], decoder),
        child=child,
    )
    exprs = decoder.decode_all([strip_alias(expr) for expr in fields["projectList"]])
    if _are_all_columns(exprs, len(child.output)):
        return top
    return Project(output=output, exprs=exprs, child=top)


def _are_all_columns(exprs: Sequence[Expr], count: int) -> bool:
    ordinals = [expr.ordinal for expr in exprs if isinstance(expr, ColumnRef)]
    return len(ordinals) == len(exprs) and ordinals == list(range(count))
