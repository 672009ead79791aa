"""Reads a run to its end, and fails with a dump of every driver if the run hangs.

An executor itself raises if all drivers are blocked and no background work is running. It cannot detect work that never
ends, a stream that never yields, or a deadlock inside operators' calls: so a thread of its own reads the run, and the
test's thread polls the drivers, for at most ``bound_s`` of real time without progress.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Iterable
from typing import Generic, TypeVar

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec.driver import Driver
from pyspark_pipeline.exec.runnable import Runnable
from pyspark_pipeline.exec.states import BLOCKED, FINAL, DriverState

Item = TypeVar("Item")

_LOOK_SECONDS = 0.01
_DUMP_SECONDS = 2.0
_END_SECONDS = 0.5
_EXECUTOR_MESSAGE = "every driver is blocked and nothing can wake one"


class StuckError(AssertionError):
    """No driver can progress, or none has; with a dump of each."""


def watched(items: Iterable[Item], runnable: Runnable, *, bound_s: float = 10.0) -> list[Item]:
    """Return all ``items`` of running ``runnable``: ``watched(execute(instance, 3), instance)``.

    Raises :class:`StuckError` with a dump of every driver if all are blocked forever, or if none has run, moved a chunk
    or ended for ``bound_s`` seconds; propagates the errors of the run. Another thread reads the run; a hung run may
    leave it behind.
    """
    run = _Run(items)
    seen, since = (-1, -1, -1, -1), time.monotonic()
    while not run.ended.wait(_LOOK_SECONDS):
        now = (*_progress(runnable.drivers), len(run.items))
        if now != seen:
            seen, since = now, time.monotonic()
        elif time.monotonic() - since > bound_s:
            stuck = StuckError(f"{_diagnose(runnable.drivers)} for {bound_s} s:\n{dump(runnable)}")
            runnable.stop()
            run.ended.wait(_END_SECONDS)
            raise stuck
    error = run.error
    if isinstance(error, EngineBugError) and str(error).startswith(_EXECUTOR_MESSAGE):
        raise StuckError(str(error)) from error
    if error is not None:
        raise error
    return run.items


def wait_until_blocked(drivers: Iterable[Driver], *, bound_s: float = 10.0) -> None:
    """Wait until each of ``drivers`` is blocked or done; raise :class:`StuckError` after ``bound_s`` seconds."""
    waited_for = list(drivers)
    end = time.monotonic() + bound_s
    while any(driver.state not in BLOCKED | FINAL for driver in waited_for):
        if time.monotonic() > end:
            lines = [driver.headline() for driver in waited_for]
            raise StuckError("\n".join([f"not every driver is blocked or done after {bound_s} s:", *lines]))
        time.sleep(0.001)


def dump(runnable: Runnable) -> str:
    """Describe every driver and, while a driver runs, the stack of each thread.

    If a poll of an operator hangs on a lock, only the drivers' headlines are included.
    """
    reports: list[str] = []
    poller = threading.Thread(target=lambda: reports.append(runnable.dump()), name="dump", daemon=True)
    poller.start()
    poller.join(_DUMP_SECONDS)
    lines = reports or [driver.headline() for driver in runnable.drivers]
    if any(driver.state is DriverState.RUNNING for driver in runnable.drivers):
        lines += _stacks()
    return "\n".join(lines)


class _Run(Generic[Item]):
    """Reads the items of a run on a thread."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.items: list[Item] = []
        self.error: BaseException | None = None
        self.ended = threading.Event()
        self._from = items
        threading.Thread(target=self._read, name="watched run", daemon=True).start()

    def _read(self) -> None:
        try:
            for item in self._from:
                self.items.append(item)
        except BaseException as error:
            self.error = error
        self.ended.set()


def _progress(drivers: Iterable[Driver]) -> tuple[int, int, int]:
    counts = [(driver.metrics.scheduled, driver.metrics.moves, driver.is_done) for driver in drivers]
    scheduled, moves, done = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0, 0)
    return scheduled, moves, done


def _diagnose(drivers: Iterable[Driver]) -> str:
    left = [driver for driver in drivers if not driver.is_done]
    if not left:
        return "every driver is done, but the run has not ended"
    if all(driver.state in BLOCKED for driver in left):
        return "every driver is blocked, and none has been woken"
    return "no driver has moved a chunk or come to rest"


def _stacks() -> list[str]:
    """Return the stacks of the other threads."""
    lines = []
    frames = sys._current_frames()
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or 0)
        if frame is not None and thread is not threading.current_thread():
            lines.append(f"thread {thread.name}:\n{''.join(traceback.format_stack(frame)).rstrip()}")
    return lines
