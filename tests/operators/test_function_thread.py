"""The thread of a function over an iterator: queues, early ends, errors, and its count as background work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from pyspark_pipeline.exec.background import BackgroundWork, StallDetector
from pyspark_pipeline.operators.python_functions.function_thread import FunctionThread
from tests.operators.function_thread_kit import Batches, batch, drive, value


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.001)


def started(function: Callable[[Batches], Batches]) -> tuple[FunctionThread, BackgroundWork]:
    background = BackgroundWork(stall_seconds=0.01)
    return FunctionThread("f", function, background, lambda: None), background


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 50])
def test_output_follows_input(rows: int) -> None:
    thread, background = started(lambda batches: (found for found in batches))
    assert list(drive(thread, rows)) == list(range(rows))
    until(background.is_idle)


def test_function_may_return_before_its_input_ends() -> None:
    thread, background = started(lambda batches: iter([next(batches)]))
    assert list(drive(thread, 9)) == [0]
    assert not thread.needs_input()
    until(background.is_idle)


def test_function_may_return_more_than_it_reads() -> None:
    thread, _background = started(lambda batches: (found for found in batches for _ in range(7)))
    assert list(drive(thread, 3)) == [0] * 7 + [1] * 7 + [2] * 7


def test_error_follows_the_output_before_it() -> None:
    def fails(batches: Batches) -> Batches:
        yield next(batches)
        raise ValueError("late")

    thread, background = started(fails)
    thread.put(batch(5))
    until(thread.has_output)
    assert value(thread.take()) == 5
    until(thread.has_output)
    with pytest.raises(ValueError, match="late"):
        thread.take()
    assert thread.is_finished()
    until(background.is_idle)


@pytest.mark.parametrize("waits_for", ["input", "output"])
def test_stop_ends_a_function_that_waits(waits_for: str) -> None:
    closed = threading.Event()

    def endless(batches: Batches) -> Batches:
        try:
            while True:
                yield next(batches) if waits_for == "input" else batch(1)
        finally:
            closed.set()

    thread, background = started(endless)
    until(background.is_idle)  # it waits
    thread.stop()
    until(lambda: thread.is_done)
    assert thread.is_finished() and not thread.has_output()
    assert closed.wait(10)
    until(background.is_idle)


def test_function_that_computes_is_background_work_that_may_take_long() -> None:
    go_on = threading.Event()

    def slow(batches: Batches) -> Batches:
        go_on.wait(10)
        yield from batches

    thread, background = started(slow)
    assert background.names() == ["f"]
    detector = StallDetector(background)
    for _ in range(3):
        time.sleep(0.02)
        assert not detector.is_stalled()
    go_on.set()
    thread.end_input()
    until(lambda: thread.is_finished() and background.is_idle())
