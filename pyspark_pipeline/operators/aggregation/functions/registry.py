"""The registry of aggregate functions: support is declared beside the implementation, as for expressions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from pyspark_pipeline.expressions.cases import CaseRegistry, Signature
from pyspark_pipeline.kernels.arrays import Int64Array
from pyspark_pipeline.operators.aggregation.functions.state import S, StatePool, ValueState
from pyspark_pipeline.plan.eval_mode import EvalMode, mode_fields
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import AggregateCall, Settings


class AggregateFunction(ABC):
    """One call of an aggregate function over all groups.

    The constructor requests the states from the pool: updated with the arguments in update modes, merged with buffers
    in merge modes. Buffers are columns in Spark's layout (``aggBufferAttributes``).
    """

    #: Whether the first row of a group determines its value, so that frames from the same first row have equal values.
    is_known_at_first_row = False
    #: Whether a partial result has the same value after a merge with an empty one; else Spark's merge is not left out.
    is_kept_by_merge = True
    #: Whether the value tells which rows were aggregated together, so that a partial stage outputs each group once.
    is_cut_by_flush = False
    #: Whether the rows of a group may come in any order, where :attr:`is_exact_in_parts` holds.
    ignores_order = False

    def __init__(self, call: AggregateCall, pool: StatePool, settings: Settings) -> None:
        self.call = call
        self._pool = pool
        mode = call.eval_mode
        self.ansi = settings.ansi if mode is None else mode.raises

    @property
    def is_exact_in_parts(self) -> bool:
        """Whether the results of parts of a group's rows, merged, are exactly that of the rows, however they are cut.

        Neither those of floating-point numbers are, nor sketches and other binary buffers.
        """
        kinds = [kind.arrow for kind in self.call.buffer]
        return not any(pa.types.is_floating(kind) or pa.types.is_binary(kind) for kind in kinds)

    def state(self, make: Callable[[], S], *key: Any, arguments: tuple[Expr, ...] | None = None) -> S:
        """Request a state from the pool; in update modes it is shared by ``key`` and the call's arguments."""
        call = self.call
        if call.merges:
            return self._pool.private_state(make)
        read = call.args if arguments is None else arguments
        made = self._pool.shared_state(make, read, call.filter, *key, call.has_zeros)
        made.has_zeros = call.has_zeros
        return made

    @abstractmethod
    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        """Merge rows of buffers into their groups."""

    @abstractmethod
    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        """Return the buffers of groups ``start`` ≤ g < ``stop``."""

    @abstractmethod
    def result(self, start: int, stop: int) -> pa.Array:
        """Return the values of groups ``start`` ≤ g < ``stop``."""


class ValueFunction(AggregateFunction):
    """A function whose buffer is the value so far, NULL before the first."""

    _state: ValueState

    def merge(self, groups: Int64Array, buffers: Sequence[pa.Array]) -> None:
        self._state.update(groups, buffers)

    def buffers(self, start: int, stop: int) -> list[pa.Array]:
        return [self._state.column(start, stop)]

    def result(self, start: int, stop: int) -> pa.Array:
        return self._state.column(start, stop)


class SumFunction(AggregateFunction):
    """A function that adds its argument, exactly but for an overflow."""

    ignores_order = True

    @property
    def is_exact_in_parts(self) -> bool:
        """Whether no sum of 2**32 values overflows: whether one does may depend on the order of additions."""
        of, total = self.call.arg_types[0], self.call.buffer[0]
        if of.kind == "decimal":
            return total.precision - of.precision >= 10
        return of.kind in ("tinyint", "smallint", "int")


#: The frames of windows that every state serves; a case with ``frames=`` is also supported as a window function.
FRAMES = ("rows", "range", "whole", "sliding")
#: The evaluation modes of sums and averages: NULL on overflow (``try_…``), or as the session's ANSI mode says.
TRY_MODE = mode_fields(EvalMode.TRY)
SESSION_MODES = mode_fields(EvalMode.ANSI, EvalMode.LEGACY)
MODES = mode_fields()

_FUNCTIONS: CaseRegistry[type[AggregateFunction]] = CaseRegistry("aggregate function ")

#: ``@aggregate("Sum", [case(...), ...])`` registers a class for a Catalyst class with the signatures it supports.
aggregate = _FUNCTIONS.register
#: Yields every function with each of its cases.
aggregate_cases = _FUNCTIONS.cases
#: Returns the supported cases by function.
aggregate_manifest = _FUNCTIONS.manifest


def build_function(call: AggregateCall, pool: StatePool, settings: Settings) -> AggregateFunction:
    """Build the function of a call; raise :class:`UnsupportedPlanError` if none is registered."""
    signature = Signature(types=call.arg_types, type=call.type, fields=call.fields, args=call.constants)
    return _FUNCTIONS.find(call.function, signature)(call, pool, settings)
