"""Operators of users: the names an operator outside the package needs, and how it is registered.

``docs/extend.md`` shows a whole one. What is registered here runs in every fragment whose plan holds the node;
importing the module that registers must come before the fragment is decoded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pyspark_pipeline.exec import Chunk, Event, Operator, OperatorContext, OperatorFactory
from pyspark_pipeline.exec.barrier import Barrier
from pyspark_pipeline.exec.blocking import BlockingReason
from pyspark_pipeline.exec.bridge import Bridge
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.operators.registry import PipelineBuilder, implements, is_implemented
from pyspark_pipeline.operators.streaming import StreamingOperator
from pyspark_pipeline.plan.nodes import Field, Node, Settings
from pyspark_pipeline.plan.registry import decodes

__all__ = [
    "Barrier",
    "BlockingReason",
    "Bridge",
    "Chunk",
    "Event",
    "Field",
    "Node",
    "Operator",
    "OperatorContext",
    "OperatorFactory",
    "PipelineBuilder",
    "Settings",
    "StreamingOperator",
    "declare_counter",
    "decodes",
    "implements",
    "register_join",
    "register_operator",
]

N = TypeVar("N", bound=Node)


def register_operator(node: type[N], make: Callable[[N, Settings], OperatorFactory]) -> None:
    """Let ``make`` give the operator of ``node``: a source where it has no child, else one above its only child.

    ``make`` is called once a task and node, its factory makes an operator for each driver. An operator that must see
    all rows before it gives one, or needs equal keys in one driver, is registered by :func:`implements` instead.
    Raises ValueError where the node has an operator already.
    """
    _refuse_twice(node)

    @implements(node, execs=(), pipeline=())
    def decompose(found: N, builder: PipelineBuilder) -> list[OperatorFactory]:
        below = [factory for child in found.children for factory in builder.decompose(child)]
        return [*below, make(found, builder.settings)]


def register_join(
    node: type[N], make: Callable[[N, Settings], tuple[OperatorFactory, OperatorFactory]], *, build_left: bool = False
) -> None:
    """Let ``make`` give the operators of ``node``, which has two children: the sink that builds and the probe.

    The right child is built, or the left one with ``build_left``: its pipeline ends in the sink; the probe is appended
    to the other child's. The two share a :class:`Bridge` that the last build driver (:class:`Barrier`) publishes;
    the probe's factory says by ``precondition_ready`` whether it has. Raises ValueError where the node has an operator
    already.
    """
    _refuse_twice(node)

    @implements(node, execs=(), pipeline=())
    def decompose(found: N, builder: PipelineBuilder) -> list[OperatorFactory]:
        build, probe = make(found, builder.settings)
        left, right = found.children
        built, streamed = (left, right) if build_left else (right, left)
        builder.add_pipeline([*builder.decompose(built), build])
        return [*builder.decompose(streamed), probe]


def _refuse_twice(node: type[Node]) -> None:
    if is_implemented(node):
        raise ValueError(f"{node.__name__} has an operator already")
