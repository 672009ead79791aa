"""The Sort and TopN nodes and their decoders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.plan.expr import ColumnRef, Expr
from pyspark_pipeline.plan.nodes import ExchangeSource, Field, Node, Project
from pyspark_pipeline.plan.normalized_keys import normalized
from pyspark_pipeline.plan.registry import decodes
from pyspark_pipeline.plan.wire_expr import ExpressionDecoder, Json, strip_alias

_DIRECTIONS = {"Ascending": False, "Descending": True}
_NULL_ORDERINGS = {"NullsFirst": True, "NullsLast": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class SortKey:
    """One sort key: an expression bound to the child, its direction, and the position of NULL."""

    expr: Expr
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort(Node):
    """Emits all rows of this instance, ordered by ``keys``; the sort is stable.

    ``input_presorted``: the child is an exchange source, each sender's rows are sorted, and are only merged.
    """

    keys: tuple[SortKey, ...]
    child: Node
    input_presorted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TopN(Node):
    """Emits the rows from row ``offset`` (from 0) up to row ``limit`` in the order of ``keys``.

    As in Spark's ``TakeOrderedAndProjectExec``, ``limit`` also counts the rows skipped by ``offset``.
    """

    limit: int
    keys: tuple[SortKey, ...]
    child: Node
    offset: int = 0


def decode_sort_keys(nodes: Sequence[Json], decoder: ExpressionDecoder) -> tuple[SortKey, ...]:
    """Decode ``SortOrder`` expressions; raise :class:`UnsupportedPlanError` for an unknown ordering."""
    return tuple(_sort_key(node, decoder) for node in nodes)


def _sort_key(node: Json, decoder: ExpressionDecoder) -> SortKey:
    descending, nulls_first = sort_direction(node)
    return SortKey(expr=normalized(decoder.decode(node["args"][0])), descending=descending, nulls_first=nulls_first)


def sort_direction(node: Json) -> tuple[bool, bool]:
    """Return whether a ``SortOrder`` is descending, and has NULLs first; raise :class:`UnsupportedPlanError`."""
    fields = node["fields"]
    direction, nulls = fields["direction"], fields["nullOrdering"]
    if direction not in _DIRECTIONS or nulls not in _NULL_ORDERINGS:
        raise UnsupportedPlanError(f"sort order {direction} {nulls} is not known")
    return _DIRECTIONS[direction], _NULL_ORDERINGS[nulls]


@decodes("SortExec")
def _sort(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    child = children[0]
    keys = decode_sort_keys(node["fields"]["sortOrder"], ExpressionDecoder(child.output))
    if node.get("getsRuns") and isinstance(child, ExchangeSource):
        return Sort(output=output, keys=keys, child=replace(child, merge_senders=False), input_presorted=True)
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
