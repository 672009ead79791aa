"""The Union node: rows of several inputs one after the other, each task running one of them."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pipeline.plan.nodes import Field, Node
from pyspark_pipeline.plan.registry import decodes
from pyspark_pipeline.plan.wire_expr import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Union(Node):
    """The rows of one of ``inputs``: as the partitions of Spark's union are those of all its inputs, an instance
    runs the one that its control message names. The inputs' columns have equal types in order; names may differ.
    """

    inputs: tuple[Node, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        return self.inputs


@decodes("UnionExec")
def _union(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    return Union(output=output, inputs=children)
