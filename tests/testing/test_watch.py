"""A hung run fails within a bound, with a dump of every driver, whatever it hangs in."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec import Chunk, FragmentInstance, OperatorContext, OutputQueue, execute
from pyspark_pipeline.exec.background import BackgroundWork
from pyspark_pipeline.exec.input_queue import InputFeed, InputQueue
from pyspark_pipeline.local import LocalQuery
from pyspark_pipeline.testing import StuckError, wait_until_blocked, watched
from tests.exec.kit import Recorded, Sink, Source, Step, chunks, pipeline, values
from tests.exec.test_shared_parts import QueueSource
from tests.local.kit import sums_by_key

both = pytest.mark.parametrize("threads", [1, 3])


class Never(Recorded):
    """A source without output, with unending background work ``work``."""

    def __init__(self, work: str = "") -> None:
        super().__init__()
        self.work = work

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        if self.work:
            context.background.started(self.work)

    def is_finished(self) -> bool:
        return False


@both
def test_watched_returns_the_items_of_a_run(threads: int) -> None:
    queue = OutputQueue(1)
    instance = FragmentInstance([pipeline(Source(chunks(50)), Step(), Sink(queue))], queue)
    assert values(watched(execute(instance, threads), instance, bound_s=5)) == list(range(200))
    query = LocalQuery(sums_by_key(1000, 7, dop=2), threads=threads)
    assert sum(chunk.num_rows for chunk in watched(query.chunks(), query.group, bound_s=5)) == 7


@both
def test_error_of_the_run_propagates(threads: int) -> None:
    queue = OutputQueue()
    instance = FragmentInstance([pipeline(Source(chunks(1), fails="pull_chunk"), Sink(queue))], queue)
    with pytest.raises(EngineBugError, match="told to fail in pull_chunk"):
        watched(execute(instance, threads), instance)


@both
def test_deadlocked_drivers_are_reported_at_once(threads: int) -> None:
    queue = OutputQueue()
    fine, stuck = pipeline(Source(chunks(2)), Sink(queue)), pipeline(Never(), Sink(queue), number=1)
    instance = FragmentInstance([fine, stuck], queue)
    with pytest.raises(StuckError, match="every driver is blocked and nothing can wake one") as caught:
        watched(execute(instance, threads), instance, bound_s=1000)
    assert "driver 0 of pipeline 0: FINISH" in str(caught.value)
    assert "driver 0 of pipeline 1: INPUT_EMPTY, waits for split" in str(caught.value)


@both
def test_unending_background_work_is_reported_after_the_bound(threads: int) -> None:
    queue, background = OutputQueue(), BackgroundWork()
    fine = pipeline(Source(chunks(2)), Sink(queue))
    instance = FragmentInstance([fine, pipeline(Never("reader"), Sink(queue), number=1)], queue, background=background)
    try:
        with pytest.raises(StuckError, match="every driver is blocked, and none has been woken for 0.3 s") as caught:
            watched(execute(instance, threads), instance, bound_s=0.3)
    finally:
        background.done("reader")
    assert "driver 0 of pipeline 1: INPUT_EMPTY" in str(caught.value) and "background work: reader" in str(caught.value)


@both
def test_blocked_input_stream_is_reported_after_the_bound(threads: int) -> None:
    go_on = threading.Event()

    def stream() -> Iterator[tuple[int, Any]]:
        yield 0, chunks(1)[0]
        go_on.wait(30)

    queue, output = InputQueue("input 0"), OutputQueue()
    feed = InputFeed(stream(), {0: queue})
    instance = FragmentInstance([pipeline(QueueSource(queue), Sink(output))], output, feed=feed)
    try:
        with pytest.raises(StuckError, match="every driver is blocked, and none has been woken"):
            watched(execute(instance, threads), instance, bound_s=0.3)
    finally:
        go_on.set()


def test_deadlock_inside_calls_is_reported_with_thread_stacks() -> None:
    """Each thread holds a lock and waits for the other's; polls for the dump hang as well."""
    queue, locks, both_hold = OutputQueue(), (threading.Lock(), threading.Lock()), threading.Barrier(2)
    given_up = threading.Event()

    class Locks(Step):
        def __init__(self, own: int) -> None:
            super().__init__()
            self.own = own

        def pull_chunk(self) -> Chunk | None:
            with locks[self.own]:
                both_hold.wait(10)
                while not locks[1 - self.own].acquire(timeout=0.01):
                    if given_up.is_set():
                        return None
                return super().pull_chunk()

        def has_output(self) -> bool:
            if threading.current_thread().name == "dump":
                given_up.wait(10)
            return super().has_output()

    pipelines = [pipeline(Source(chunks(1)), Locks(own), Sink(queue), number=own) for own in range(2)]
    instance = FragmentInstance(pipelines, queue)
    try:
        with pytest.raises(StuckError, match="no driver has moved a chunk or come to rest for 0.3 s") as caught:
            watched(execute(instance, 2), instance, bound_s=0.3)
    finally:
        given_up.set()
    said = str(caught.value)
    for number in range(2):
        assert f"driver 0 of pipeline {number}: RUNNING, " in said
        assert f"s in pull_chunk of operator 1 (locks) of pipeline {number}" in said
    assert said.count("while not locks[1 - self.own].acquire") == 2


def test_wait_until_blocked_has_a_bound() -> None:
    queue, go_on = OutputQueue(), threading.Event()

    def work(given: Chunk) -> Chunk:
        go_on.wait(10)
        return given

    instance = FragmentInstance([pipeline(Source(chunks(1)), Step(work=work), Sink(queue))], queue)
    reader = threading.Thread(target=lambda: list(execute(instance, 2)))
    reader.start()
    with pytest.raises(StuckError, match="not every driver is blocked or done after 0.1 s:\ndriver 0 of pipeline 0: "):
        wait_until_blocked(instance.drivers, bound_s=0.1)
    go_on.set()
    wait_until_blocked(instance.drivers)
    reader.join()
    assert instance.drivers[0].is_done
