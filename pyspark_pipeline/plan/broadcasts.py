"""The node of a broadcast: chunks that an earlier job collected, the same for every instance of the fragment."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pipeline.plan.nodes import Field, Node
from pyspark_pipeline.plan.registry import decodes
from pyspark_pipeline.plan.wire_expr import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class BroadcastSource(Node):
    """All chunks of broadcast number ``broadcast`` of the fragment.

    It is no source of a pipeline: the operator above takes what the worker process has made of the chunks
    (``PipelineBuilder.broadcast_value``).
    """

    broadcast: int


@decodes("Broadcast")
def _broadcast(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    return BroadcastSource(output=output, broadcast=node["broadcast"])
