"""The Union node: the rows of several inputs; each task runs one input."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pipeline.plan.nodes import Field, Node
from pyspark_pipeline.plan.registry import decodes
from pyspark_pipeline.plan.wire_expr import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Union(Node):
    """Emits the rows of one of ``inputs``: the partitions of Spark's union are those of all its inputs, so an instance
    runs the input named in its control message. The inputs' columns have equal types in order; names may differ.

    ``number`` is its number among the unions of its fragment, by which the control message names it.
    """

    inputs: tuple[Node, ...]
    number: int = 0

    @property
    def children(self) -> tuple[Node, ...]:
        return self.inputs


@decodes("UnionExec")
def _union(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    return Union(output=output, inputs=children, number=node["union"])
