"""Stopping from another thread: an error for the caller, never a truncated result; no thread or item is left."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable

import pytest

from pyspark_pipeline.errors import CancelledError
from pyspark_pipeline.exec import Chunk, FragmentInstance, OutputQueue, execute
from tests.exec.kit import Recorded, Sink, Source, Step, chunks, pipeline, values

both = pytest.mark.parametrize("threads", [1, 3])


def stopped_in_a_call(threads: int, work: Callable[[FragmentInstance], None]) -> list[Recorded]:
    """Run a pipeline that calls ``work`` on its fifth chunk; return the operators."""
    queue = OutputQueue()
    seen = 0

    def step(given: Chunk) -> Chunk:
        nonlocal seen
        seen += 1
        if seen == 5:
            work(instance)
        return given

    operators: list[Recorded] = [Source(chunks(100)), Step(step), Sink(queue)]
    instance = FragmentInstance([pipeline(*operators)], queue)
    before = threading.active_count()
    with pytest.raises(CancelledError, match="before it had given all its rows"):
        list(execute(instance, threads))
    assert threading.active_count() == before and not len(queue)
    return operators


@both
def test_stop_during_a_call_raises_cancelled_error(threads: int) -> None:
    def from_another_thread(instance: FragmentInstance) -> None:
        other = threading.Thread(target=instance.stop)
        other.start()
        other.join()

    operators = stopped_in_a_call(threads, from_another_thread)
    assert all(operator.stages()[-2:] == ["set_cancelled", "close"] for operator in operators)


class Idle(Source):
    """A source with background work until it is cancelled."""

    def prepare(self, context: object) -> None:
        super().prepare(context)  # type: ignore[arg-type]
        self.context.background.started("idle")

    def is_finished(self) -> bool:
        return False

    def set_cancelled(self) -> None:
        super().set_cancelled()
        self.context.background.done("idle")


@both
def test_stop_while_all_drivers_are_blocked_raises_cancelled_error(threads: int) -> None:
    queue = OutputQueue()
    source = Idle([])
    instance = FragmentInstance([pipeline(source, Sink(queue))], queue)
    timer = threading.Timer(0.05, instance.stop)
    timer.start()
    with pytest.raises(CancelledError):
        list(execute(instance, threads))
    timer.join()
    assert source.stages() == ["prepare", "set_cancelled", "close"]


@both
def test_stop_between_two_items_yields_no_further_item(threads: int) -> None:
    queue = OutputQueue()
    instance = FragmentInstance([pipeline(Source(chunks(100)), Sink(queue))], queue)
    items = execute(instance, threads)
    assert values([next(items)]) == [0, 1, 2, 3]
    instance.stop()
    with pytest.raises(CancelledError):
        next(items)


@both
def test_close_and_stop_after_the_end_raise_nothing(threads: int) -> None:
    queue = OutputQueue()
    instance = FragmentInstance([pipeline(Source(chunks(3)), Sink(queue))], queue)
    assert len(list(execute(instance, threads))) == 3
    instance.stop()
    again = FragmentInstance([pipeline(Source(chunks(100)), Sink(queue))], queue)
    items = execute(again, threads)
    next(items)
    items.close()


def test_cancelled_error_pickles() -> None:
    assert str(pickle.loads(pickle.dumps(CancelledError("stopped")))) == "stopped"
