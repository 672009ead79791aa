"""The register of aggregate functions: support is declared beside the implementation, as for expressions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.kernels.buffers import Array
from pyspark_pipeline.operators.aggregates.state import S, StatePool
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import AggregateCall, Settings


class AggregateFunction(ABC):
    """One call of an aggregate function over all groups.

    The constructor requests the states from the pool: fed with the arguments in update modes, merged in
    merge modes. Buffers are columns in Spark's layout (``aggBufferAttributes``).
    """

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        self.call = call
        self._pool = pool
        mode = call.fields.get("evalMode")
        self.ansi = settings.ansi if mode is None else mode == "ANSI"

    def state(self, make: Callable[[], S], *key: Any, arguments: tuple[Expr, ...] | None = None) -> S:
        """Request a state: shared by ``key`` and the call's arguments where it is fed."""
        if self.call.merges:
            return self._pool.merged(make)
        return self._pool.fed(make, self.call.args if arguments is None else arguments, self.call.filter, *key)

    @abstractmethod
    def merge(self, groups: Array, buffers: Sequence[pa.Array]) -> None:
        """Merge rows of buffers into their groups."""

    @abstractmethod
    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        """Give the buffers of groups ``start`` ≤ g < ``stop``."""

    @abstractmethod
    def result(self, start: int, stop: int) -> pa.Array:
        """Give the values of groups ``start`` ≤ g < ``stop``."""


_F = TypeVar("_F", bound=type[AggregateFunction])
Case = Mapping[str, Any]

_REGISTER: dict[str, list[tuple[type[AggregateFunction], Sequence[Case], Callable[[AggregateCall], bool]]]] = {}


def aggregate(name: str, cases: Sequence[Case], *, when: Callable[[AggregateCall], bool]) -> Callable[[_F], _F]:
    """Register a class for the Catalyst function ``name``: ``cases`` for the manifest, ``when`` for calls."""

    def register(made: _F) -> _F:
        _REGISTER.setdefault(name, []).append((made, cases, when))
        return made

    return register


def build_function(call: AggregateCall, pool: StatePool, settings: Settings) -> AggregateFunction:
    """Make the function of a call; raise :class:`UnsupportedPlanError` where none is registered."""
    for made, _, when in _REGISTER.get(call.function, ()):
        if when(call):
            return made(call, pool, settings)
    raise UnsupportedPlanError(f"aggregate function {call.function} of type {call.type} is not supported")


def aggregate_manifest() -> dict[str, Any]:
    """Give the supported forms by function."""
    return {
        name: {"cases": [dict(case) for _, cases, _ in _REGISTER[name] for case in cases]} for name in sorted(_REGISTER)
    }
