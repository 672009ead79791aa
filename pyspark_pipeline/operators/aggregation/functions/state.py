"""The states of an aggregation: accumulators per group, shared by the functions that need the same one.

``sum(x)`` and ``avg(x)`` both need the sum of x: they request the same :class:`State` from the pool, which is updated
once a chunk. States are updated with argument columns; the function merges, because the buffer layout is Spark's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, TypeVar

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import ArrayOf, BoolArray, Int64Array, Item, UInt8Array
from pyspark_pipeline.kernels.buffers import NO_BITS, grown, validity
from pyspark_pipeline.kernels.element_places import element_rows
from pyspark_pipeline.plan.expr import Expr

_FIRST_GROUPS = 64
#: Rows of frames that are copied at a time.
_COPIED_ROWS = 1 << 18


#: Beyond this share of NULLs, gathering the other rows costs less than testing each row.
_MOST_NULLS = 0.25


def known_rows(
    groups: Int64Array, data: ArrayOf[Item], column: pa.Array
) -> tuple[Int64Array, ArrayOf[Item], UInt8Array, int]:
    """Return (groups, data, bitmap, bits to skip) of the rows that an update has to visit.

    ``groups`` has shape (rows,), ``data``, the values of ``column``, (rows,) or (2 · rows,) for those of 128 bits.
    """
    if column.null_count <= _MOST_NULLS * len(column):
        return groups, data, *validity(column)
    bitmap, skip = validity(column)
    rows = np.flatnonzero(np.unpackbits(bitmap, count=skip + len(column), bitorder="little")[skip:])
    gathered = data[rows] if data.size == groups.size else data.reshape(-1, 2)[rows].reshape(-1)
    return groups[rows], gathered, NO_BITS, 0


class Groups(Enum):
    """The groups of an aggregation: those of keys, one of all rows, or the frames of a window."""

    BY_KEYS = "by keys"
    ONE = "one"
    FRAMES = "frames"


class PerGroup(Generic[Item]):
    """A growing array of ``width`` items a group; new groups start at zero."""

    __slots__ = ("array", "_width", "_groups")

    def __init__(self, dtype: type[Item], width: int = 1) -> None:
        self._width = width
        self._groups = 0
        self.array: ArrayOf[Item] = np.zeros(0, dtype=dtype)

    @property
    def nbytes(self) -> int:
        return self.array.nbytes

    def reserve(self, groups: int) -> None:
        """Grow to at least ``groups`` groups."""
        if groups <= self._groups:
            return
        held = self._groups * self._width
        self._groups = max(groups, 2 * self._groups, _FIRST_GROUPS)
        self.array = grown(self.array, self._groups * self._width)
        self.array[held:] = 0

    def clear(self) -> None:
        """Set everything to zero."""
        self.array[:] = 0

    def take(self, groups: Int64Array) -> None:
        """Keep only ``groups``, renumbered from 0 in this order; the other groups start at zero again."""
        kept = self.array.reshape(-1, self._width)[groups].reshape(-1)
        self.array[:] = 0
        self.array[: kept.size] = kept

    def part(self, start: int, stop: int) -> ArrayOf[Item]:
        """View the items of groups ``start`` ≤ g < ``stop``."""
        return self.array[start * self._width : stop * self._width]


class State(ABC):
    """Accumulators of all groups; subclasses list their arrays in ``arrays``."""

    arrays: tuple[PerGroup[Any], ...] = ()
    #: Whether Spark evaluates the first argument only in some rows, which :meth:`rows_read` returns.
    reads_some_rows = False
    #: Whether a row that fails the filter of a sum counts as 0.
    has_zeros = False

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(array.nbytes for array in self.arrays)

    def reserve(self, groups: int) -> None:
        """Grow to at least ``groups`` groups; new groups are empty."""
        for array in self.arrays:
            array.reserve(groups)

    def clear(self) -> None:
        """Reset all groups; keep the memory."""
        for array in self.arrays:
            array.clear()

    def take(self, groups: Int64Array) -> None:
        """Keep only ``groups`` (int64), renumbered from 0 in this order; the other groups are empty again."""
        for array in self.arrays:
            array.take(groups)

    @abstractmethod
    def update(self, groups: Int64Array, columns: Sequence[pa.Array]) -> None:
        """Update the groups (int64) of rows with the columns of the arguments, all of one length."""

    def rows_read(self, groups: Int64Array, columns: Sequence[pa.Array]) -> BoolArray:
        """Return in which rows Spark evaluates the first argument, by the other ones (``columns``): bool."""
        return np.ones(groups.size, dtype=np.bool_)

    def filter_rows(self, groups: Int64Array, passed: BoolArray) -> None:  # noqa: B027 (optional)
        """Note the groups (int64) of rows; the next update gets those that ``passed`` (bool) a filter, if any did."""

    @abstractmethod
    def scan(self, starts: BoolArray, columns: Sequence[pa.Array]) -> None:
        """Set group i + 1 to the state after row i, for the running frames of a window.

        Group 0 is the state before the first row. ``starts``: bool, shape (rows,), flags the rows that an empty state
        is updated with. There are at least rows + 1 groups.
        """

    def over(self, begin: Int64Array, end: Int64Array, columns: Sequence[pa.Array]) -> None:
        """Set group i, which is empty, to the state after the rows ``begin[i]`` ≤ r < ``end[i]`` in order.

        Both are int64 and ascend. A state whose rows may be added in any order, or removed again, overrides this: the
        rows of all frames are copied here.
        """
        sizes = end - begin
        pieces = np.cumsum(sizes) // _COPIED_ROWS
        cuts = [0, *(np.flatnonzero(pieces[1:] != pieces[:-1]) + 1).tolist(), sizes.size]
        for first, last in zip(cuts, cuts[1:], strict=False):
            numbers = rows_of_frames(begin[first:last], sizes[first:last])
            if numbers.size:
                groups = element_rows(sizes[first:last], first)
                self.update(groups, [column.take(pa.array(numbers)) for column in columns])


class ValueState(State):
    """A state with one value per group, which is also the buffer that a merge updates it with."""

    @abstractmethod
    def column(self, start: int, stop: int) -> pa.Array:
        """Return the values of groups ``start`` ≤ g < ``stop``; NULL for a group without one."""


def rows_of_frames(begin: Int64Array, sizes: Int64Array) -> Int64Array:
    """Return the rows of frames that have ``sizes`` rows from ``begin``, one frame after the other; int64."""
    ends = np.cumsum(sizes)
    numbers: Int64Array = np.arange(ends[-1]) + np.repeat(begin - (ends - sizes), sizes)
    return numbers


def frame_counts(flags: BoolArray, begin: Int64Array, end: Int64Array) -> Int64Array:
    """Return the number of flagged rows of each frame; int64."""
    running = np.zeros(flags.size + 1, dtype=np.int64)
    np.cumsum(flags, out=running[1:])
    counts: Int64Array = running[end] - running[begin]
    return counts


S = TypeVar("S", bound=State)

_WARM_UP: list[Callable[[], None]] = []


def warm_up(step: Callable[[], None]) -> Callable[[], None]:
    """Register a function that loads the kernels of states by updating them on a few rows."""
    _WARM_UP.append(step)
    return step


def warm_up_steps() -> Sequence[Callable[[], None]]:
    """Return the functions registered by :func:`warm_up`."""
    return tuple(_WARM_UP)


def updated(state: S, *columns: pa.Array) -> S:
    """Return the state after frames, a scan, and an update of its first group; for warming up."""
    rows = len(columns[0])
    state.reserve(rows + 1)
    state.over(np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64), columns)
    state.clear()
    state.scan(np.zeros(rows, dtype=np.bool_), columns)
    state.update(np.zeros(rows, dtype=np.int64), columns)
    return state


@dataclass(slots=True)
class StateInput:
    """A state and the arguments it is updated with."""

    state: State
    arguments: tuple[Expr, ...]


@dataclass(slots=True)
class StatePool:
    """The states of one aggregation: those updated with arguments, by filter, and those only merged into.

    ``groups`` is a kind of groups: Spark stores the sum of a group by keys after every row, which limits its digits.
    """

    groups: Groups = Groups.BY_KEYS
    inputs: dict[Expr | None, list[StateInput]] = field(default_factory=dict)
    states: list[State] = field(default_factory=list)
    _known: dict[Any, State] = field(default_factory=dict)

    def shared_state(self, make: Callable[[], S], arguments: tuple[Expr, ...], condition: Expr | None, *key: Any) -> S:
        """Return the state of this key, arguments and filter, created on first request."""
        wanted = (key, repr(arguments), condition)  # by repr: literals 0.0 and -0.0 are equal
        found = self._known.get(wanted)
        if found is None:
            found = self.private_state(make)
            self._known[wanted] = found
            self.inputs.setdefault(condition, []).append(StateInput(found, arguments))
        return found  # type: ignore[return-value]

    def private_state(self, make: Callable[[], S]) -> S:
        """Create a state that only one function merges into."""
        made = make()
        self.states.append(made)
        return made
