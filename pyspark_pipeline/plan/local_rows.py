"""The LocalRows node: rows that are part of the plan."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pipeline.plan.nodes import Field, Node
from pyspark_pipeline.plan.registry import decodes
from pyspark_pipeline.plan.wire_expr import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalRows(Node):
    """Emits the rows of VALUES or of local data; the task's control message contains those of its partition."""

    input_id: int


@decodes("LocalTableScanExec", "OneRowRelationExec")
def _local_rows(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    return LocalRows(output=output, input_id=node["scan"])
