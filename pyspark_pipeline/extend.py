"""User-defined operators: the names that an operator outside the package needs, and its registration.

``docs/extend.md`` shows a complete one. A registered operator runs in every fragment whose plan contains the node;
the module that registers it must be imported before the fragment is decoded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pyspark_pipeline.exec import Chunk, Event, Operator, OperatorContext, OperatorFactory
from pyspark_pipeline.exec.barrier import Barrier
from pyspark_pipeline.exec.blocking import BlockingReason
from pyspark_pipeline.exec.bridge import Bridge
from pyspark_pipeline.exec.event import Waker
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
    "Waker",
    "declare_counter",
    "decodes",
    "implements",
    "register_join",
    "register_operator",
]

N = TypeVar("N", bound=Node)


def register_operator(node: type[N], make: Callable[[N, Settings], OperatorFactory]) -> None:
    """Register ``make`` as the factory of ``node``'s operator: a source, or one above the node's only child.

    ``make`` is called once per task and node; its factory creates one operator per driver. A blocking operator, or one
    that needs equal keys in one driver, is registered with :func:`implements` instead.
    Raises ValueError if the node has an operator already.
    """
    _refuse_twice(node)

    @implements(node, execs=(), pipeline=())
    def decompose(found: N, builder: PipelineBuilder) -> list[OperatorFactory]:
        below = [factory for child in found.children for factory in builder.decompose(child)]
        return [*below, make(found, builder.settings)]


def register_join(
    node: type[N], make: Callable[[N, Settings], tuple[OperatorFactory, OperatorFactory]], *, build_left: bool = False
) -> None:
    """Register ``make`` as the factory of the build sink and the probe of ``node``, which has two children.

    The right child is the build side, or the left one with ``build_left``: its pipeline ends in the sink; the probe is
    appended to the other child's pipeline. Both share a :class:`Bridge` that the last build driver (:class:`Barrier`)
    publishes; ``precondition_ready`` of the probe's factory returns whether it is published. Raises ValueError if the
    node has an operator already.
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
