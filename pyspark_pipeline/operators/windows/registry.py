"""The register of window functions: what each reads, how that becomes its value, and which forms are supported."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.operators.windows.sources import Source
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.windows import WindowCall


@dataclass(frozen=True, slots=True)
class Reading:
    """A source, made anew for each driver, and the arguments it is fed with."""

    make: Callable[[], Source]
    arguments: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class WindowFunction:
    """``result`` makes the value of rows of what the readings give for them."""

    readings: tuple[Reading, ...]
    result: Callable[..., pa.Array]


Build = Callable[[WindowCall, Settings], WindowFunction]
Case = Mapping[str, Any]

#: The frames of aggregate functions.
FRAMES = ("rows", "range", "whole", "sliding")

_REGISTER: dict[str, list[tuple[Build, Sequence[Case], Callable[[WindowCall], bool]]]] = {}


def window_function(
    name: str, cases: Sequence[Case], *, when: Callable[[WindowCall], bool] = lambda call: True
) -> Callable[[Build], Build]:
    """Register a function for the Catalyst class ``name``: ``cases`` for the manifest, ``when`` for calls."""

    def register(build: Build) -> Build:
        _REGISTER.setdefault(name, []).append((build, cases, when))
        return build

    return register


def build_function(call: WindowCall, settings: Settings) -> WindowFunction:
    """Make the function of a call; raise :class:`UnsupportedPlanError` where none is registered."""
    for build, _, when in _REGISTER.get(call.function, ()):
        if when(call):
            return build(call, settings)
    raise UnsupportedPlanError(f"window function {call.function} of type {call.type} is not supported")


def window_manifest() -> dict[str, Any]:
    """Give the supported forms by function."""
    return {
        name: {"cases": [dict(case) for _, cases, _ in _REGISTER[name] for case in cases]} for name in sorted(_REGISTER)
    }
