"""Broadcasts: chunks that are the same for every instance of a fragment.

A Spark broadcast is collected by an earlier job and read through :class:`BroadcastSource`. Between instances that send
to each other, :class:`BroadcastExchange` sends every chunk to all, and they read it like any exchange.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pipeline.plan.nodes import Field, Node, Sink
from pyspark_pipeline.plan.registry import decodes
from pyspark_pipeline.plan.wire_expr import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class BroadcastSource(Node):
    """All chunks of broadcast number ``broadcast`` of the fragment.

    It is not a pipeline source: the operator above reads the value that the worker process built of the chunks
    (``PipelineBuilder.broadcast_value``).
    """

    broadcast: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BroadcastExchange(Sink):
    """Every chunk goes to each of the ``num_partitions`` partitions: one for each instance that reads it.

    None: a local query sets the number of instances.
    """

    num_partitions: int | None = None


@decodes("Broadcast")
def _broadcast(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    return BroadcastSource(output=output, broadcast=node["broadcast"])
