"""Broadcasts: chunks that are the same for every instance of a fragment.

Spark's are collected by an earlier job and read through :class:`BroadcastSource`; where instances send to each other,
:class:`BroadcastExchange` sends every chunk to all, and they read it as they read any exchange.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_pipeline.plan.nodes import Field, Node, Sink
from pyspark_pipeline.plan.registry import decodes
from pyspark_pipeline.plan.wire_expr import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class BroadcastSource(Node):
    """All chunks of broadcast number ``broadcast`` of the fragment.

    It is no source of a pipeline: the operator above takes what the worker process has made of the chunks
    (``PipelineBuilder.broadcast_value``).
    """

    broadcast: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BroadcastExchange(Sink):
    """Every chunk goes to each of the ``num_partitions`` partitions: one for each instance that reads it.

    None stands for their number, which a local query fills in.
    """

    num_partitions: int | None = None


@decodes("Broadcast")
def _broadcast(node: Json, output: tuple[Field, ...], children: tuple[Node, ...]) -> Node:
    return BroadcastSource(output=output, broadcast=node["broadcast"])
