"""The registry of window functions: their inputs, their result functions, and the supported cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from pyspark_pipeline.expressions.cases import CaseRegistry, Signature
from pyspark_pipeline.operators.windows.frame_values import FrameValue
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.windows import WindowCall


@dataclass(frozen=True, slots=True)
class WindowInput:
    """One input of a window function: a frame value, created per driver by ``make``, and its arguments."""

    make: Callable[[], FrameValue]
    arguments: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class WindowFunction:
    """A window function. ``result`` computes its column from the columns of each of ``inputs``."""

    inputs: tuple[WindowInput, ...]
    result: Callable[..., pa.Array]


Build = Callable[[WindowCall, Settings], WindowFunction]

_FUNCTIONS: CaseRegistry[Build] = CaseRegistry("window function ")

#: ``@window_function("Rank", [case(..., frames=[...]), ...])`` registers a builder for a Catalyst class.
window_function = _FUNCTIONS.register
#: Returns the supported cases by function name.
window_manifest = _FUNCTIONS.manifest


def build_function(call: WindowCall, settings: Settings) -> WindowFunction:
    """Build the function of a call; raise :class:`UnsupportedPlanError` if none is registered."""
    types = tuple(arg.type for arg in call.args)
    signature = Signature(types=types, type=call.type, fields=call.fields, args=call.args, frame=call.frame)
    return _FUNCTIONS.find(call.function, signature)(call, settings)
