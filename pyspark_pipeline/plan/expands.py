"""The Expand node: several projections of every row, for grouping sets, ROLLUP, CUBE and DISTINCT aggregates."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import Field, Node
from pyspark_pipeline.plan.registry import decodes
from pyspark_pipeline.plan.wire_expr import ExpressionDecoder, Json, strip_alias


@dataclass(frozen=True, slots=True, kw_only=True)
class Expand(Node):
    """Emits each row once per projection; ``projections`` are bound to the child and have the output's types."""

    projections: tuple[tuple[Expr, ...], ...]
    child: Node


@decodes("ExpandExec")
def _expand(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    decoder = ExpressionDecoder(children[0].output)
    projections = tuple(
        decoder.decode_all([strip_alias(expr) for expr in projection]) for projection in node["fields"]["projections"]
    )
    return Expand(output=output, projections=projections, child=children[0])
