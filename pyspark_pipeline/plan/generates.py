"""The Generate node: rows that a generator makes of each row."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import Field, Node
from pyspark_pipeline.plan.registry import decodes
from pyspark_pipeline.plan.wire_expr import ExpressionDecoder, Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Generate(Node):
    """Joins each row with the rows that ``generator`` (``Explode``, ``PosExplode``, …) makes of ``arguments``.

    The output is the columns ``carried`` of the child, then those of the generator. ``is_outer``: a row without
    generated rows is output once, the columns of the generator NULL.
    """

    generator: str
    arguments: tuple[Expr, ...]
    carried: tuple[int, ...]
    is_outer: bool
    child: Node


@decodes("GenerateExec")
def _generate(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    (child,) = children
    places = {field.id: place for place, field in enumerate(child.output)}
    return Generate(
        output=output,
        generator=node["generator"],
        arguments=ExpressionDecoder(child.output).decode_all(node["arguments"]),
        carried=tuple(places[column] for column in node["carried"]),
        is_outer=node["outer"],
        child=child,
    )
