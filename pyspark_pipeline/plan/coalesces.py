"""The Coalesce node: several partitions of its input read as one."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pipeline.plan.nodes import Field, Node
from pyspark_pipeline.plan.registry import decodes
from pyspark_pipeline.plan.wire_expr import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Coalesce(Node):
    """Emits the rows of ``child``, whose scans and inputs have the data of several of Spark's partitions, in order."""

    child: Node


@decodes("CoalesceExec")
def _coalesce(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    return Coalesce(output=output, child=children[0])
