"""The clocks of scheduling: real time, or steps, for runs that must not depend on how fast the machine is.

A clock is a function that gives nanoseconds and never goes back.
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
    """A clock whose time moves only when told (:meth:`advance`), and by ``step_ns`` at every reading; any thread.

    A driver reads the clock that ends its slices when it begins, after each move of a chunk, and when it stops: so
    with a step a slice is a number of moves.
    """

    __slots__ = ("_step_ns", "_readings", "_told_ns", "_lock")

    def __init__(self, step_ns: int = 0) -> None:
        self._step_ns = step_ns
        self._readings = itertools.count()
        self._told_ns = 0
        self._lock = threading.Lock()

    def __call__(self) -> int:
        """Give the time in nanoseconds."""
        return self._told_ns + self._step_ns * next(self._readings)

    def advance(self, ns: int) -> None:
        """Let ``ns`` nanoseconds pass; raise ValueError where they are negative."""
        if ns < 0:
            raise ValueError(f"a clock does not go back: {ns} ns")
        with self._lock:
            self._told_ns += ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """What drivers go by: ``measuring`` for all times that are told, ``slicing`` for the ends of slices and the levels
    of the ready queue (None: the same).
    """

    measuring: Clock = perf_counter_ns
    slicing: Clock | None = None


REAL = Clocks()
