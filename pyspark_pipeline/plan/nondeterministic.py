"""The NondeterministicColumns node: values that depend on a row's partition and position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark_pipeline.plan.expr import Call
from pyspark_pipeline.plan.nodes import Field, Node, PartitionDependentNode
from pyspark_pipeline.plan.wire_expr import ExpressionDecoder, Json


@dataclass(frozen=True, slots=True, kw_only=True)
class NondeterministicColumns(PartitionDependentNode):
    """Appends a column with the values of each of ``calls`` to those of ``child``, which their arguments may read."""

    calls: tuple[Call, ...]
    child: Node


def nondeterministic_columns(number: int, calls: Sequence[Json], child: Node) -> NondeterministicColumns:
    """Decode the ``calls`` of an operator, each with the expression id by which the operator refers to its values."""
    decoder = ExpressionDecoder(child.output)
    decoded = [decoder.decode(call["call"]) for call in calls]
    made = tuple(call for call in decoded if isinstance(call, Call))
    columns = [
        Field(id=node["id"], name=call.name, type=call.type, nullable=call.nullable)
        for node, call in zip(calls, made, strict=True)
    ]
    return NondeterministicColumns(output=(*child.output, *columns), number=number, calls=made, child=child)
