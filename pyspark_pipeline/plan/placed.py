"""The PlacedValues node: values that depend on the place of a row, such as its number in the partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark_pipeline.plan.expr import Call
from pyspark_pipeline.plan.nodes import Field, Node, PlacedNode
from pyspark_pipeline.plan.wire_expr import ExpressionDecoder, Json


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedValues(PlacedNode):
    """Appends a column with the values of each of ``calls``, whose arguments are literals, to those of ``child``."""

    calls: tuple[Call, ...]
    child: Node


def placed_values(number: int, calls: Sequence[Json], child: Node) -> PlacedValues:
    """Decode the ``calls`` of an operator, each with the expression id by which the operator refers to its values."""
    decoder = ExpressionDecoder(())
    decoded = [decoder.decode(call["call"]) for call in calls]
    made = tuple(call for call in decoded if isinstance(call, Call))
    columns = [
        Field(id=node["id"], name=call.name, type=call.type, nullable=False)
        for node, call in zip(calls, made, strict=True)
    ]
    return PlacedValues(output=(*child.output, *columns), number=number, calls=made, child=child)
