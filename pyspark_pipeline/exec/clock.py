"""The clocks of scheduling: real time, or steps for runs that must not depend on the speed of the machine.

A clock is a function that returns nanoseconds and never decreases.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TypeAlias

Clock: TypeAlias = Callable[[], int]


class StepClock:
    """A clock that moves only by :meth:`advance`, and by ``step_ns`` at every reading. Thread-safe.

    A driver reads the slicing clock when it begins, after each move of a chunk, and when it stops: so with a step, a
    slice is a number of moves.
    """

    __slots__ = ("_step_ns", "_readings", "_advanced_ns", "_lock")

    def __init__(self, step_ns: int = 0) -> None:
        self._step_ns = step_ns
        self._readings = itertools.count()
        self._advanced_ns = 0
        self._lock = threading.Lock()

    def __call__(self) -> int:
        """Return the time in nanoseconds."""
        return self._advanced_ns + self._step_ns * next(self._readings)

    def advance(self, ns: int) -> None:
        """Advance by ``ns`` nanoseconds; raise ValueError if negative."""
        if ns < 0:
            raise ValueError(f"a clock does not go back: {ns} ns")
        with self._lock:
            self._advanced_ns += ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """The clocks of a run: ``measuring`` for reported times, ``slicing`` (None: the same) for time slices and levels of
    the ready queue.
    """

    measuring: Clock = perf_counter_ns
    slicing: Clock | None = None


REAL = Clocks()
