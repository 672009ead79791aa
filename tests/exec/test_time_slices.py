"""Slices, overruns and waits, to the nanosecond: only the test's operators advance the clock."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from pyspark_pipeline.exec import Chunk, FragmentInstance, Operator, OutputQueue, execute
from pyspark_pipeline.exec.serial import SerialExecutor
from pyspark_pipeline.exec.threaded import ThreadedExecutor
from pyspark_pipeline.testing import Clocks, StepClock
from tests.exec.kit import Sink, Source, Step, chunks, pipeline, values

MS = 1_000_000


def takes(clock: StepClock, ms: int, name: str = "", order: list[str] | None = None) -> Callable[[Chunk], Chunk]:
    """Return the work of a step that takes ``ms`` for each chunk and records ``name``."""

    def work(given: Chunk) -> Chunk:
        clock.advance(ms * MS)
        if order is not None:
            order.append(name)
        return given

    return work


def driver_metrics(instance: FragmentInstance, driver: int = 0) -> dict[str, Any]:
    """Return the metrics of a driver of the first pipeline."""
    return instance.metrics()["pipelines"][0]["drivers"][driver]  # type: ignore[no-any-return]


def stepped(clock: StepClock, *pipelines: list[Operator]) -> FragmentInstance:
    """Run pipelines with ``clock`` to the end, on this thread."""
    queue = next(op.queue for op in pipelines[0] if isinstance(op, Sink))
    numbered = [pipeline(*operators, number=number) for number, operators in enumerate(pipelines)]
    instance = FragmentInstance(numbered, queue, clocks=Clocks(measuring=clock))
    before = threading.active_count()
    for _ in execute(instance):
        assert threading.active_count() == before
    return instance


def test_drivers_run_in_turns_of_a_slice_without_starving_a_short_one() -> None:
    clock, queue, order = StepClock(), OutputQueue(100), list[str]()
    instance = stepped(
        clock,
        [Source(chunks(8)), Step(work=takes(clock, 5, "a", order)), Sink(queue)],
        [Source(chunks(8)), Step(work=takes(clock, 5, "b", order)), Sink(queue)],
        [Source(chunks(2)), Step(work=takes(clock, 1, "short", order)), Sink(queue)],
    )
    assert order == [*"aaaa", *"bbbb", "short", "short", *"aaaa", *"bbbb"]
    driver = driver_metrics(instance)
    assert (driver["yields"], driver["scheduled"], driver["active_s"]) == (2, 3, 0.04)
    assert "overruns" not in driver


@pytest.mark.parametrize("executor", [SerialExecutor, lambda instance: ThreadedExecutor(instance, 1)])
def test_long_driver_moves_down_a_level_and_runs_by_time_spent_per_level(executor: Any) -> None:
    """Slices of 300 ms: the second is the first on the next level, the third follows more time on the level above.

    Short drivers count although each of them ends in its first slice.
    """
    clock, queue, order = StepClock(), OutputQueue(100), list[str]()
    short = [[Source(chunks(1)), Step(work=takes(clock, 40, "short", order)), Sink(queue)] for _ in range(4)]
    long = [Source(chunks(3)), Step(work=takes(clock, 300, "long", order)), Sink(queue)]
    pipelines = [pipeline(*operators, number=number) for number, operators in enumerate([long, *short])]
    instance = FragmentInstance(pipelines, queue, time_slice_ms=300, clocks=Clocks(measuring=clock))
    list(executor(instance).run())
    assert instance.close() == []
    assert order == ["long", "long", "short", "short", "long", "short", "short"]


@pytest.mark.parametrize(("ms", "late"), [(20, 0), (21, 1), (38, 18), (500, 480)])
def test_time_of_a_slow_call_beyond_the_slice_is_an_overrun(ms: int, late: int) -> None:
    clock = StepClock()
    driver = driver_metrics(stepped(clock, [Source(chunks(1)), Step(work=takes(clock, ms)), Sink(OutputQueue())]))
    assert driver["yields"] == 1
    assert (driver.get("overruns", 0), driver.get("overrun_s", 0)) == (min(late, 1), pytest.approx(late / 1e3))


@pytest.mark.parametrize("call", ["has_output", "push_chunk", "set_finishing", "set_finished", "close"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_overrun_is_counted_in_every_call(call: str, place: int) -> None:
    clock = StepClock()
    operators: list[Operator] = [Source(chunks(1)), Step(), Sink(OutputQueue())]
    original, slow = getattr(operators[place], call), [True]

    def slowly(*given: Any) -> Any:
        if slow.pop() if slow else False:
            clock.advance(500 * MS)
        return original(*given)

    setattr(operators[place], call, slowly)
    driver = driver_metrics(stepped(clock, operators))
    called = (call, place) not in {("has_output", 2), ("push_chunk", 0)}
    submitted = (call, place) == ("has_output", 0)  # asked before the first slice
    expected = (1, pytest.approx(0.48)) if called and not submitted else (None, None)
    assert (driver.get("overruns"), driver.get("overrun_s")) == expected


def test_slice_ends_after_a_slow_set_finishing() -> None:
    clock, queue, order = StepClock(), OutputQueue(100), list[str]()

    class Flushes(Step):
        def set_finishing(self) -> None:
            super().set_finishing()
            clock.advance(30 * MS)
            order.append("flushed")

    class Ends(Sink):
        def set_finishing(self) -> None:
            super().set_finishing()
            order.append("ended")

    stepped(
        clock,
        [Source(chunks(1)), Flushes(work=takes(clock, 1, "first", order)), Ends(queue)],
        [Source(chunks(1)), Step(work=takes(clock, 1, "second", order)), Sink(queue)],
    )
    assert order == ["first", "flushed", "second", "ended"]


@pytest.mark.parametrize("threads", [1, 3])
def test_wait_ended_by_a_cancel_is_counted(threads: int) -> None:
    clock = StepClock()
    first, second = OutputQueue(1), OutputQueue(1)

    class Stopped(Source):
        def is_finished(self) -> bool:
            return False

    blocked = pipeline(Stopped([]), Sink(second))
    giving = pipeline(Source(chunks(3)), Sink(first), number=1)
    instance = FragmentInstance([blocked, giving], first, clocks=Clocks(measuring=clock))
    items = execute(instance, threads)
    next(items)
    clock.advance(7 * MS)
    items.close()
    driver = driver_metrics(instance)
    assert (driver["blocked_s"], driver["blocks"]) == ({"split": 0.007}, {"split": 1})
    assert instance.metrics()["pipelines"][0]["operators"][0]["blocked_s"] == {"split": 0.007}


def test_step_clock_makes_a_slice_a_number_of_moves() -> None:
    queue = OutputQueue(1000)
    clocks = Clocks(slicing=StepClock(MS))
    source = Source(chunks(100))
    instance = FragmentInstance([pipeline(source, Sink(queue))], queue, time_slice_ms=10, clocks=clocks)
    assert values(list(execute(instance))) == list(range(400))
    driver = driver_metrics(instance)
    assert (driver["moves"], driver["scheduled"], driver["yields"]) == (100, 11, 10)
    assert driver["active_s"] < 1.0


def test_step_clock_rejects_negative_advance() -> None:
    clock = StepClock(5)
    assert [clock(), clock()] == [0, 5]
    clock.advance(100)
    assert clock() == 110
    with pytest.raises(ValueError, match="-1 ns"):
        clock.advance(-1)
