"""The registry of decoders: one function per class of Spark's physical operators.

A node and its decoder may be in a separate file; importing it in :mod:`~.wire` registers the decoder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.plan.nodes import Field, Node
from pyspark_pipeline.plan.wire_expr import Json

Decode = Callable[[Json, tuple[Field, ...], tuple[Node, ...]], Node]
_D = TypeVar("_D", bound=Decode)

_DECODERS: dict[str, Decode] = {}


def decodes(*names: str) -> Callable[[_D], _D]:
    """Register the decorated function for Spark's operators of these class names.

    Its arguments are the operator's JSON, its output columns, and its decoded children.
    """

    def register(function: _D) -> _D:
        for name in names:
            _DECODERS[name] = function
        return function

    return register


def decoder_of(name: str) -> Decode:
    """Return the decoder of a class name; raise :class:`UnsupportedPlanError` if there is none."""
    decode = _DECODERS.get(name)
    if decode is None:
        raise UnsupportedPlanError(f"operator {name} has no node in the engine")
    return decode
