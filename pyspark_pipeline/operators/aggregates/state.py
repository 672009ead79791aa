"""What an aggregation keeps per group, shared by the functions that need the same.

``sum(x)`` and ``avg(x)`` both need the sum of x: they request the same :class:`State` from the pool, and the
pool updates it once a chunk. States are updated with a column of an argument; merging goes through the
function, whose buffer layout is Spark's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyspark_pipeline.kernels.buffers import Array, grown
from pyspark_pipeline.plan.expr import Expr

_FIRST_GROUPS = 64


class PerGroup:
    """A growing array of ``width`` items a group; new groups start at zero."""

    __slots__ = ("array", "_width", "_groups")

    def __init__(self, dtype: npt.DTypeLike, width: int = 1) -> None:
        self._width = width
        self._groups = 0
        self.array: Array = np.zeros(0, dtype=dtype)

    @property
    def nbytes(self) -> int:
        return self.array.nbytes

    def reserve(self, groups: int) -> None:
        """Make room for ``groups`` groups."""
        if groups <= self._groups:
            return
        held = self._groups * self._width
        self._groups = max(groups, 2 * self._groups, _FIRST_GROUPS)
        self.array = grown(self.array, self._groups * self._width)
        self.array[held:] = 0

    def clear(self) -> None:
        """Set everything to zero."""
        self.array[:] = 0

    def part(self, start: int, stop: int) -> Array:
        """View the items of groups ``start`` ≤ g < ``stop``."""
        return self.array[start * self._width : stop * self._width]


class State(ABC):
    """Accumulators of all groups; subclasses list their arrays in ``arrays``."""

    arrays: tuple[PerGroup, ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(array.nbytes for array in self.arrays)

    def reserve(self, groups: int) -> None:
        """Make room for ``groups`` groups, new ones empty."""
        for array in self.arrays:
            array.reserve(groups)

    def clear(self) -> None:
        """Forget everything, keeping the memory."""
        for array in self.arrays:
            array.clear()

    @abstractmethod
    def update(self, groups: Array, columns: Sequence[pa.Array]) -> None:
        """Take rows: their groups (int64) and the columns of the arguments, all of one length."""


S = TypeVar("S", bound=State)


@dataclass(slots=True)
class Feeding:
    """A state and the arguments it is updated with."""

    state: State
    arguments: tuple[Expr, ...]


@dataclass(slots=True)
class StatePool:
    """The states of one aggregation: those fed with arguments, by filter, and those only merged into."""

    has_keys: bool = True
    feedings: dict[Expr | None, list[Feeding]] = field(default_factory=dict)
    states: list[State] = field(default_factory=list)
    _known: dict[Any, State] = field(default_factory=dict)

    def fed(self, make: Callable[[], S], arguments: tuple[Expr, ...], condition: Expr | None, *key: Any) -> S:
        """Give the state of this key, arguments and filter, made at the first request."""
        wanted = (key, repr(arguments), condition)  # by repr: literals 0.0 and -0.0 are equal
        found = self._known.get(wanted)
        if found is None:
            found = self.merged(make)
            self._known[wanted] = found
            self.feedings.setdefault(condition, []).append(Feeding(found, arguments))
        return found  # type: ignore[return-value]

    def merged(self, make: Callable[[], S]) -> S:
        """Make a state that only its function merges into."""
        made = make()
        self.states.append(made)
        return made
