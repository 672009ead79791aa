"""Memory is reclaimed by the holder's own driver, whatever blocks it, and no byte leaks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest

from pyspark_pipeline.errors import PipelineError
from pyspark_pipeline.exec import Chunk, Event, FragmentInstance, OperatorContext, OutputQueue, Pipeline, execute
from pyspark_pipeline.exec.blocking import BlockingReason
from pyspark_pipeline.exec.driver import Driver
from pyspark_pipeline.exec.event import Waker
from pyspark_pipeline.exec.operator_chain import OperatorChain
from pyspark_pipeline.exec.ready_queue import ReadyQueue
from pyspark_pipeline.memory import MemoryTracker, Reclaimable
from tests.exec.kit import Made, Recorded, Sink, Source, chunks, pipeline, values

BOTH = pytest.mark.parametrize("threads", [1, 3])


class Gate:
    """Opens once; notifies ``changed``."""

    def __init__(self) -> None:
        self.is_open = False
        self.changed = Event("the gate opens")

    def open(self) -> None:
        self.is_open = True
        self.changed.notify()


class WaitingSource(Source):
    """Emits ``free`` chunks, and the others after the gate is open."""

    def __init__(self, given: list[Chunk], gate: Gate, *, free: int = 0) -> None:
        super().__init__(given)
        self.gate = gate
        self.free = free

    def is_blocked(self, waker: Waker) -> BlockingReason | None:
        waker.wait_for(self.gate.changed)
        return None

    def has_output(self) -> bool:
        return super().has_output() and (self.free > 0 or self.gate.is_open)

    def pull_chunk(self) -> Chunk | None:
        self.free -= 1
        return super().pull_chunk()


class Holder(Recorded):
    """A sink that holds ``each`` reclaimable bytes per chunk; calls ``then`` after it reclaimed them."""

    def __init__(
        self, each: int, then: Callable[[], None], *, full_at: int = -1, log: list[str] | None = None, fails: str = ""
    ) -> None:
        super().__init__(log, fails)
        self.each = each
        self.then = then
        self.full_at = full_at
        self.taken = 0
        self.spilled = 0

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        context.register_reclaimable(Reclaimable(1))

    def need_input(self) -> bool:
        return not self.finishing and self.taken != self.full_at

    def push_chunk(self, given: Chunk) -> None:
        self.called("push_chunk")
        self.taken += 1
        assert self.context.memory.try_reserve(self.context.memory.held + self.each)

    def reclaim(self) -> None:
        self.spilled += self.context.memory.held
        self.called("reclaim")
        self.context.memory.reserve(0)
        self.full_at = -1
        self.then()

    def set_finishing(self) -> None:
        if self.context.unregister_reclaimable():
            self.reclaim()
        super().set_finishing()

    def is_finished(self) -> bool:
        return self.finishing

    def close(self) -> None:
        super().close()
        self.context.memory.reserve(0)


class Requester(Sink):
    """A sink that holds ``each`` unreclaimable bytes per chunk; calls ``first`` before its first."""

    def __init__(self, queue: OutputQueue, each: int, first: Callable[[], None] = lambda: None) -> None:
        super().__init__(queue)
        self.each = each
        self.first = first
        self.refused = 0

    def push_chunk(self, given: Chunk) -> None:
        self.first()
        self.first = lambda: None
        self.refused += not self.context.memory.try_reserve(self.context.memory.held + self.each)
        super().push_chunk(given)

    def close(self) -> None:
        super().close()
        self.context.memory.reserve(0)


def limited(*pipelines: Pipeline, queue: OutputQueue, limit: int | None = 100) -> FragmentInstance:
    return FragmentInstance(pipelines, queue, memory=MemoryTracker("instance", limit=limit))


def reclaims(instance: FragmentInstance) -> int:
    operators = [operator for pipeline in instance.metrics()["pipelines"] for operator in pipeline["operators"]]
    return sum(operator.get("counters", {}).get("revocations", 0) for operator in operators)


class After:
    """A gate that opens when an operator has received ``count`` chunks."""

    def __init__(self, operator: Holder, count: int) -> None:
        self.changed = Event("chunks are taken")
        self._operator = operator
        self._count = count

    @property
    def is_open(self) -> bool:
        return self._operator.taken >= self._count


def waiting_for(holder: Holder, count: int, given: int) -> Source:
    """Return the requester's source: it starts when the holder has received ``count`` chunks."""
    return WaitingSource(chunks(given), After(holder, count))  # type: ignore[arg-type]


@BOTH
def test_reclaim_wakes_an_operator_blocked_on_input(threads: int) -> None:
    queue, gate = OutputQueue(10), Gate()
    holder = Holder(40, gate.open)
    requester = Requester(queue, 15)
    source = WaitingSource(chunks(3), gate, free=2)
    instance = limited(pipeline(source, holder), pipeline(waiting_for(holder, 2, 4), requester, number=1), queue=queue)
    assert values(list(execute(instance, threads))) == list(range(16))
    assert holder.log.index("reclaim") == 3 and holder.log.count("reclaim") == 1
    assert (holder.spilled, requester.refused, reclaims(instance)) == (80, 0, 1)
    assert instance.memory.held == 0 and instance.memory.peak <= 140
    assert instance.metrics()["pipelines"][0]["operators"][1]["reclaim_s"] > 0


@BOTH
def test_reclaim_wakes_an_operator_that_refuses_input(threads: int) -> None:
    queue = OutputQueue(10)
    holder = Holder(40, lambda: None, full_at=2)
    requester = Requester(queue, 15)
    instance = limited(
        pipeline(Source(chunks(3)), holder), pipeline(waiting_for(holder, 2, 4), requester, number=1), queue=queue
    )
    assert values(list(execute(instance, threads))) == list(range(16))
    assert (holder.spilled, holder.taken, requester.refused) == (80, 3, 0)
    assert instance.memory.held == 0


@BOTH
def test_reclaim_wakes_an_operator_behind_an_unmet_precondition(threads: int) -> None:
    queue, gate = OutputQueue(10), Gate()

    class Early(Holder):
        def prepare(self, context: OperatorContext) -> None:
            super().prepare(context)
            context.memory.reserve(80)

    holder = Early(1, gate.open)

    class Waits(Made):
        def precondition_ready(self) -> bool:
            return gate.is_open

    below = Pipeline(id=0, factories=(Waits("source", lambda _: Source(chunks(2))), Made("holder", lambda _: holder)))
    instance = limited(below, pipeline(Source(chunks(4)), Requester(queue, 15), number=1), queue=queue)
    assert values(list(execute(instance, threads))) == list(range(16))
    assert holder.spilled == 80 and holder.stages()[:2] == ["prepare", "reclaim"]
    assert instance.memory.held == 0


@BOTH
def test_reclaim_requested_during_set_finishing_is_done(threads: int) -> None:
    queue = OutputQueue(10)
    requester = Requester(queue, 15)

    class Late(Holder):
        def set_finishing(self) -> None:
            assert requester.context.memory.try_reserve(30)
            super().set_finishing()

    holder = Late(40, lambda: None)
    instance = limited(pipeline(Source(chunks(2)), holder), pipeline(Source([]), requester, number=1), queue=queue)
    assert list(execute(instance, threads)) == []
    assert holder.stages() == ["prepare", "reclaim", "set_finishing", "set_finished", "close"]
    assert (holder.spilled, reclaims(instance), instance.memory.held) == (80, 1, 0)


@BOTH
def test_error_in_reclaim_fails_the_query_and_leaks_nothing(threads: int) -> None:
    queue, gate = OutputQueue(10), Gate()
    holder = Holder(40, gate.open, fails="reclaim")
    source, requester = WaitingSource(chunks(3), gate, free=2), Requester(queue, 15)
    instance = limited(pipeline(source, holder), pipeline(waiting_for(holder, 2, 4), requester, number=1), queue=queue)
    with pytest.raises(PipelineError, match=r"told to fail in reclaim\nin reclaim of operator 1"):
        list(execute(instance, threads))
    assert holder.stages() == ["prepare", "reclaim", "set_cancelled", "close"]
    assert requester.stages()[-1] == "close" and instance.memory.held == 0


@BOTH
def test_cancel_during_a_pending_reclaim_leaks_nothing(threads: int) -> None:
    queue, gate = OutputQueue(1), Gate()
    holder = Holder(40, lambda: None)
    source, requester = WaitingSource(chunks(3), gate, free=2), Requester(queue, 30)
    instance = limited(pipeline(source, holder), pipeline(waiting_for(holder, 2, 9), requester, number=1), queue=queue)
    with closing(execute(instance, threads)) as found:
        next(found)
    assert holder.stages()[-2:] == ["set_cancelled", "close"]
    assert instance.memory.held == 0 and not holder.context.memory.reclaim_requested


def test_no_reclaim_without_a_limit() -> None:
    queue = OutputQueue(10)
    holder = Holder(40, lambda: None)
    instance = limited(
        pipeline(Source(chunks(3)), holder), pipeline(Source(chunks(4)), Requester(queue, 10**9), number=1),
        queue=queue, limit=None,
    )  # fmt: skip
    assert len(list(execute(instance))) == 4
    assert "reclaim" not in holder.log and reclaims(instance) == 0


def ready_drivers(monkeypatch: pytest.MonkeyPatch, count: int) -> tuple[list[Driver], set[Driver]]:
    requested: set[Driver] = set()
    drivers = [Driver(f"driver {i}", [], slice_ns=1) for i in range(count)]
    is_requested = lambda self: any(driver._chain is self for driver in requested)  # noqa: E731
    monkeypatch.setattr(OperatorChain, "reclaim_requested", is_requested)
    return drivers, requested


def test_driver_with_a_reclaim_request_runs_first(monkeypatch: pytest.MonkeyPatch) -> None:
    (first, second, third, elsewhere), requested = ready_drivers(monkeypatch, 4)
    third.ran_ns = 10**10
    ready = ReadyQueue()
    for driver in (first, second, third):
        ready.put(driver)
    requested |= {third, elsewhere}
    ready.prioritise(third)
    ready.prioritise(third)
    ready.prioritise(elsewhere)
    assert len(ready) == 3 and ready.take() is third
    ready.put(third)
    assert [ready.take() for _ in range(4)] == [third, first, second, None]


def test_reclaim_request_wakes_a_ready_driver_again(monkeypatch: pytest.MonkeyPatch) -> None:
    (driver,), requested = ready_drivers(monkeypatch, 1)
    woken: list[Driver] = []

    class Executor:
        def driver_woken(self, driver: Driver) -> None:
            woken.append(driver)

    driver.scheduler = Executor()
    driver.wake()
    driver.wake()
    assert woken == [driver]
    requested.add(driver)
    driver.wake()
    assert woken == [driver, driver]
