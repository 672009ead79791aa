"""An operator that is asked for memory puts it aside on its own driver, whatever that waits for, and nothing leaks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest

from pyspark_pipeline.errors import PipelineError
from pyspark_pipeline.exec import Chunk, Event, FragmentInstance, OperatorContext, OutputQueue, Pipeline, execute
from pyspark_pipeline.exec.driver import Driver
from pyspark_pipeline.exec.ready_queue import ReadyQueue
from pyspark_pipeline.exec.seats import Seats
from pyspark_pipeline.memory import MemoryTracker, Revocable
from tests.exec.kit import Made, Recorded, Sink, Source, chunks, pipeline, values

BOTH = pytest.mark.parametrize("threads", [1, 3])


class Gate:
    """Opens once; wakes who waits for it."""

    def __init__(self) -> None:
        self.is_open = False
        self.changed = Event("the gate opens")

    def open(self) -> None:
        self.is_open = True
        self.changed.notify()


class WaitingSource(Source):
    """Gives its last chunk, or all, when the gate is open."""

    def __init__(self, given: list[Chunk], gate: Gate, *, free: int = 0) -> None:
        super().__init__(given)
        self.gate = gate
        self.free = free

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        context.wake_on(self.gate.changed)

    def has_output(self) -> bool:
        return super().has_output() and (self.free > 0 or self.gate.is_open)

    def pull_chunk(self) -> Chunk | None:
        self.free -= 1
        return super().pull_chunk()


class Hoarder(Recorded):
    """A sink that holds ``each`` bytes for each chunk and offers them; ``then`` is called after it gave them back."""

    def __init__(
        self, each: int, then: Callable[[], None], *, full_at: int = -1, log: list[str] | None = None, fails: str = ""
    ) -> None:
        super().__init__(log, fails)
        self.each = each
        self.then = then
        self.full_at = full_at
        self.taken = 0
        self.put_aside = 0

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        context.offer(Revocable(1))

    def need_input(self) -> bool:
        return not self.finishing and self.taken != self.full_at

    def push_chunk(self, given: Chunk) -> None:
        self.called("push_chunk")
        self.taken += 1
        assert self.context.memory.try_hold(self.context.memory.held + self.each)

    def revoke(self) -> None:
        self.put_aside += self.context.memory.held
        self.called("revoke")
        self.context.memory.hold(0)
        self.full_at = -1
        self.then()

    def set_finishing(self) -> None:
        if self.context.withdraw():
            self.revoke()
        super().set_finishing()

    def is_finished(self) -> bool:
        return self.finishing

    def close(self) -> None:
        super().close()
        self.context.memory.hold(0)


class Asker(Sink):
    """A sink that holds ``each`` bytes for each chunk and offers nothing; ``first`` is called before the first."""

    def __init__(self, queue: OutputQueue, each: int, first: Callable[[], None] = lambda: None) -> None:
        super().__init__(queue)
        self.each = each
        self.first = first
        self.refused = 0

    def push_chunk(self, given: Chunk) -> None:
        self.first()
        self.first = lambda: None
        self.refused += not self.context.memory.try_hold(self.context.memory.held + self.each)
        super().push_chunk(given)

    def close(self) -> None:
        super().close()
        self.context.memory.hold(0)


def limited(*pipelines: Pipeline, queue: OutputQueue, limit: int | None = 100) -> FragmentInstance:
    return FragmentInstance(pipelines, queue, memory=MemoryTracker("instance", limit=limit))


def revocations(instance: FragmentInstance) -> int:
    operators = [operator for pipeline in instance.metrics()["pipelines"] for operator in pipeline["operators"]]
    return sum(operator.get("counters", {}).get("revocations", 0) for operator in operators)


class After:
    """A source's gate that opens when an operator has taken so many chunks."""

    def __init__(self, operator: Hoarder, count: int) -> None:
        self.changed = Event("chunks are taken")
        self._operator = operator
        self._count = count

    @property
    def is_open(self) -> bool:
        return self._operator.taken >= self._count


def waiting_for(hoarder: Hoarder, count: int, given: int) -> Source:
    """Make the asker's source: it begins when the hoarder has taken ``count`` chunks."""
    return WaitingSource(chunks(given), After(hoarder, count))  # type: ignore[arg-type]


@BOTH
def test_an_operator_whose_input_does_not_come_is_woken_and_gives_back(threads: int) -> None:
    queue, gate = OutputQueue(10), Gate()
    hoarder = Hoarder(40, gate.open)
    asker = Asker(queue, 15)
    source = WaitingSource(chunks(3), gate, free=2)
    instance = limited(pipeline(source, hoarder), pipeline(waiting_for(hoarder, 2, 4), asker, number=1), queue=queue)
    assert values(list(execute(instance, threads))) == list(range(16))
    assert hoarder.log.index("revoke") == 3 and hoarder.log.count("revoke") == 1
    assert (hoarder.put_aside, asker.refused, revocations(instance)) == (80, 0, 1)
    assert instance.memory.held == 0 and instance.memory.peak <= 140
    assert instance.metrics()["pipelines"][0]["operators"][1]["revoke_s"] > 0


@BOTH
def test_an_operator_that_takes_nothing_gives_back(threads: int) -> None:
    queue = OutputQueue(10)
    hoarder = Hoarder(40, lambda: None, full_at=2)
    asker = Asker(queue, 15)
    instance = limited(
        pipeline(Source(chunks(3)), hoarder), pipeline(waiting_for(hoarder, 2, 4), asker, number=1), queue=queue
    )
    assert values(list(execute(instance, threads))) == list(range(16))
    assert (hoarder.put_aside, hoarder.taken, asker.refused) == (80, 3, 0)
    assert instance.memory.held == 0


@BOTH
def test_an_operator_behind_a_precondition_gives_back(threads: int) -> None:
    queue, gate = OutputQueue(10), Gate()

    class Early(Hoarder):
        def prepare(self, context: OperatorContext) -> None:
            super().prepare(context)
            context.memory.hold(80)

    hoarder = Early(1, gate.open)

    class Waits(Made):
        def precondition_ready(self) -> bool:
            return gate.is_open

    below = Pipeline(id=0, factories=(Waits("source", lambda _: Source(chunks(2))), Made("hoarder", lambda _: hoarder)))
    instance = limited(below, pipeline(Source(chunks(4)), Asker(queue, 15), number=1), queue=queue)
    assert values(list(execute(instance, threads))) == list(range(16))
    assert hoarder.put_aside == 80 and hoarder.stages()[:2] == ["prepare", "revoke"]
    assert instance.memory.held == 0


@BOTH
def test_an_operator_that_is_asked_as_it_finishes_still_gives_back(threads: int) -> None:
    queue = OutputQueue(10)
    asker = Asker(queue, 15)

    class Late(Hoarder):
        def set_finishing(self) -> None:
            assert asker.context.memory.try_hold(30)
            super().set_finishing()

    hoarder = Late(40, lambda: None)
    instance = limited(pipeline(Source(chunks(2)), hoarder), pipeline(Source([]), asker, number=1), queue=queue)
    assert list(execute(instance, threads)) == []
    assert hoarder.stages() == ["prepare", "revoke", "set_finishing", "set_finished", "close"]
    assert (hoarder.put_aside, revocations(instance), instance.memory.held) == (80, 1, 0)


@BOTH
def test_what_fails_while_it_gives_back_fails_the_query_and_leaks_nothing(threads: int) -> None:
    queue, gate = OutputQueue(10), Gate()
    hoarder = Hoarder(40, gate.open, fails="revoke")
    source, asker = WaitingSource(chunks(3), gate, free=2), Asker(queue, 15)
    instance = limited(pipeline(source, hoarder), pipeline(waiting_for(hoarder, 2, 4), asker, number=1), queue=queue)
    with pytest.raises(PipelineError, match=r"told to fail in revoke\nin revoke of operator 1"):
        list(execute(instance, threads))
    assert hoarder.stages() == ["prepare", "revoke", "set_cancelled", "close"]
    assert asker.stages()[-1] == "close" and instance.memory.held == 0


@BOTH
def test_a_query_that_is_cancelled_while_memory_is_asked_for_leaks_nothing(threads: int) -> None:
    queue, gate = OutputQueue(1), Gate()
    hoarder = Hoarder(40, lambda: None)
    source, asker = WaitingSource(chunks(3), gate, free=2), Asker(queue, 30)
    instance = limited(pipeline(source, hoarder), pipeline(waiting_for(hoarder, 2, 9), asker, number=1), queue=queue)
    with closing(execute(instance, threads)) as found:
        next(found)
    assert hoarder.stages()[-2:] == ["set_cancelled", "close"]
    assert instance.memory.held == 0 and not hoarder.context.memory.is_asked


def test_without_a_limit_nobody_is_asked() -> None:
    queue = OutputQueue(10)
    hoarder = Hoarder(40, lambda: None)
    instance = limited(
        pipeline(Source(chunks(3)), hoarder), pipeline(Source(chunks(4)), Asker(queue, 10**9), number=1),
        queue=queue, limit=None,
    )  # fmt: skip
    assert len(list(execute(instance))) == 4
    assert "revoke" not in hoarder.log and revocations(instance) == 0


def ready_drivers(monkeypatch: pytest.MonkeyPatch, count: int) -> tuple[list[Driver], set[Driver]]:
    asked: set[Driver] = set()
    drivers = [Driver(f"driver {i}", [], slice_ns=1) for i in range(count)]
    monkeypatch.setattr(Seats, "is_asked", lambda self: any(driver._seats is self for driver in asked))
    return drivers, asked


def test_a_driver_that_is_asked_overtakes_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    (first, second, third, elsewhere), asked = ready_drivers(monkeypatch, 4)
    third.ran_ns = 10**10
    ready = ReadyQueue()
    for driver in (first, second, third):
        ready.put(driver)
    asked |= {third, elsewhere}
    ready.hurry(third)
    ready.hurry(third)
    ready.hurry(elsewhere)
    assert len(ready) == 3 and ready.take() is third
    ready.put(third)
    assert [ready.take() for _ in range(4)] == [third, first, second, None]


def test_a_ready_driver_is_told_again_when_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    (driver,), asked = ready_drivers(monkeypatch, 1)
    told: list[Driver] = []

    class Executor:
        def driver_woken(self, driver: Driver) -> None:
            told.append(driver)

    driver.scheduler = Executor()
    driver.wake()
    driver.wake()
    assert told == [driver]
    asked.add(driver)
    driver.wake()
    assert told == [driver, driver]
