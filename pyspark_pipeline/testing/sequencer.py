"""Imposes an order on operator calls, and on steps of the test's own code, if threads run the drivers.

A step that comes too early waits on its thread; the other threads continue. A step that can never come fails the test:
at once if that is known (its driver has ended without it, or the waiting thread runs all drivers), else after a bound
of real time. A step that never came also fails the test at the end: otherwise the order would be untested.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, pairwise
from types import TracebackType
from typing import Any, TypeAlias

from pyspark_pipeline.exec.driver import Driver
from pyspark_pipeline.exec.operator import Operator
from pyspark_pipeline.exec.runnable import Runnable
from pyspark_pipeline.exec.states import DriverState
from pyspark_pipeline.testing.watch import dump

#: The calls made once, or once for each chunk. Polls are made any number of times, from any thread.
CALLS = frozenset(
    {"prepare", "push_chunk", "pull_chunk", "reclaim", "set_finishing", "set_finished", "set_cancelled", "close"}
)
_LOOK_SECONDS = 0.01


class OrderNotMetError(AssertionError):
    """The steps did not, or could not, come in the required order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The ``number``-th call (from 1) named ``name`` of the operator at index ``operator`` of a driver; 0: source."""

    name: str
    operator: int
    pipeline: int = 0
    driver: int = 0
    instance: str = ""
    number: int = 1

    def __str__(self) -> str:
        name = f"{self.name} number {self.number}" if self.number > 1 else self.name
        where = f", {self.instance}" if self.instance else ""
        return f"{name} of operator {self.operator} of pipeline {self.pipeline}, driver {self.driver}{where}"


Step: TypeAlias = Call | str


class Sequencer:
    """The order of some steps of one run; a context manager around the run.

    ::

        with Sequencer(instance) as sequencer:
            sequencer.order(Call(name="close", operator=1, pipeline=0), Call(name="pull_chunk", operator=0, pipeline=1))
            items = list(execute(instance, 2))

    Leaving it raises :class:`OrderNotMetError`, with a dump of every driver, if the order was not met.
    """

    def __init__(self, runnable: Runnable, *, bound_s: float = 10.0) -> None:
        self._runnable = runnable
        self._bound_s = bound_s
        self._earlier: dict[Step, list[Step]] = {}
        self._drivers: dict[Step, Driver] = {}
        self._intercepted: set[Call] = set()
        self._done: list[Step] = []
        self._waiting: list[Step] = []
        self._released_early: list[str] = []
        self._failure: OrderNotMetError | None = None
        self._callers_thread: threading.Thread | None = None
        self._changed = threading.Condition()
        prepare = runnable.prepare

        def prepared() -> None:
            self._callers_thread = threading.current_thread()
            prepare()

        setattr(runnable, "prepare", prepared)  # noqa: B010 (a method)

    def order(self, *steps: Step) -> None:
        """Make each step begin only after the previous one has ended.

        A step is a call, or the name of a :meth:`step` of the test's own code. Raises ValueError for a call that no
        operator of the run can receive, and for contradictory orders.
        """
        for first, then in pairwise(steps):
            if first == then or self._comes_before(then, first):
                raise ValueError(f"{first} cannot come before {then}: it has to come after it")
            for step in (first, then):
                if step not in self._earlier:
                    self._earlier[step] = []
                    self._intercept(step)
            self._earlier[then].append(first)

    @contextmanager
    def step(self, step: Step) -> Iterator[None]:
        """Make the ``with`` block a step: it waits until it may begin. A step that is in no order does not wait."""
        self._begin(step)
        yield
        with self._changed:
            self._done.append(step)
            self._changed.notify_all()

    def __enter__(self) -> Sequencer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._failure is not None:
            raise self._failure from error
        if error is not None:
            return
        never = [str(step) for step in self._earlier if step not in self._done]
        if self._released_early or never:
            wrong = [*self._released_early, *(f"{step} never came" for step in never)]
            raise OrderNotMetError("\n".join([*wrong, self._describe()]))

    # --- declarations ----------------------------------------------------------------------------

    def _comes_before(self, first: Step, then: Step) -> bool:
        return any(step == first or self._comes_before(first, step) for step in self._earlier.get(then, ()))

    def _intercept(self, step: Step) -> None:
        """Wrap the operator's method; no effect for a step of the test's own code."""
        if not isinstance(step, Call):
            return
        if step.name not in CALLS or step.number < 1:
            raise ValueError(f"{step}: not a call that can be put in an order, which are {', '.join(sorted(CALLS))}")
        driver, operator = self._find(step)
        self._drivers[step] = driver
        place = replace(step, number=1)
        if place not in self._intercepted:
            self._intercepted.add(place)
            setattr(operator, step.name, partial(self._called, place, count(1), getattr(operator, step.name)))

    def _find(self, call: Call) -> tuple[Driver, Operator]:
        for driver in self._runnable.drivers:
            for slot in driver.slots:
                at = slot.id
                if (at.pipeline, at.driver, at.index) == (call.pipeline, call.driver, call.operator):
                    if at.instance == call.instance:
                        return driver, slot.operator
        raise ValueError(f"{call}: there is no such operator")

    # --- execution --------------------------------------------------------------------------------

    def _called(self, place: Call, numbers: Iterator[int], original: Callable[..., Any], *given: Any) -> Any:
        step = replace(place, number=next(numbers))
        if step not in self._earlier:
            return original(*given)
        with self.step(step):
            return original(*given)

    def _begin(self, step: Step) -> None:
        end = time.monotonic() + self._bound_s
        with self._changed:
            self._waiting.append(step)
            while missing := [first for first in self._earlier.get(step, ()) if first not in self._done]:
                if any(driver.stopping for driver in self._runnable.drivers):
                    self._released_early.append(f"{step} had to wait for {_named(missing)}, but all was stopped")
                    break
                why = self._reason_unreachable(missing)
                if not why and time.monotonic() > end:
                    why = f"not within {self._bound_s} s"
                if why:
                    failure = OrderNotMetError(f"{step} has to wait for {_named(missing)}: {why}\n{self._describe()}")
                    self._failure = self._failure or failure
                    raise failure
                self._changed.wait(_LOOK_SECONDS)
            self._waiting.remove(step)

    def _reason_unreachable(self, missing: list[Step]) -> str:
        """Return the reason why a step can never come; '' if it still can."""
        for step in missing:
            driver = self._drivers.get(step)
            if driver is not None and driver.state is DriverState.FINISH:
                return f"{driver.name} has ended without it"
        calls_only = all(isinstance(step, Call) for step in missing)
        if calls_only and threading.current_thread() is self._callers_thread:
            return "it would have to come from the thread that waits"
        return ""

    def _describe(self) -> str:
        return "\n".join(
            [
                f"came: {_named(self._done) or 'nothing'}",
                f"waiting: {_named(self._waiting) or 'nothing'}",
                dump(self._runnable),
            ]
        )


def _named(steps: list[Step]) -> str:
    return "; ".join(str(step) for step in steps)
