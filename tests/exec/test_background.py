"""Work outside drivers that never ends, and the lines in which blocked drivers stand."""

from __future__ import annotations

import pytest

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec import FragmentInstance, OperatorContext, OutputQueue, execute, instance
from pyspark_pipeline.exec.background import BackgroundWork, Patience
from pyspark_pipeline.exec.event import Line
from pyspark_pipeline.exec.input_queue import InputQueue
from pyspark_pipeline.memory import MemoryTracker
from tests.exec.kit import Sink, Source, pipeline


class Stuck(Source):
    """Waits for a reader that never ends."""

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        context.background.started("stuck reader")

    def is_finished(self) -> bool:
        return False


@pytest.mark.parametrize("threads", [1, 2])
def test_work_that_never_ends_is_told_with_every_driver(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instance, "_BACKGROUND_END_SECONDS", 0.0)
    queue = OutputQueue()
    stuck = FragmentInstance([pipeline(Stuck([]), Sink(queue))], queue, background=BackgroundWork(patience=0.2))
    with pytest.raises(EngineBugError, match=r"does not end in 0\.2 s: stuck reader\n(?s:.*)driver 0 of pipeline 0"):
        list(execute(stuck, threads))


def test_patience_begins_anew_where_work_ends_or_a_driver_runs() -> None:
    work = BackgroundWork(patience=-1.0)
    patience = Patience(work)
    work.started("reader")
    assert patience.is_over()
    work.patience = 60.0
    assert not patience.is_over()


def test_each_item_wakes_one_of_those_that_wait_and_the_end_wakes_all() -> None:
    queue, woken = InputQueue("input 0"), []
    waiters = [lambda number=number: woken.append(number) for number in range(5)]
    for waiter in waiters:
        queue.ended.subscribe(waiter)
        assert not queue.wait(waiter)
    queue.put("a")
    queue.put("b")
    assert woken == [0, 1]
    assert queue.take() == "a"
    assert woken == [0, 1, 2]  # something is left: one more may take it
    assert queue.wait(waiters[0])  # something is here: no need to stand in the line
    queue.put("c")
    assert woken == [0, 1, 2, 3]
    queue.end()
    assert woken[4:] == [0, 1, 2, 3, 4]


def test_a_line_wakes_each_once_in_order_and_not_those_that_left() -> None:
    line, woken = Line(), []
    waiters = [lambda number=number: woken.append(number) for number in range(4)]
    for waiter in (*waiters, waiters[0]):
        line.join(waiter)
    line.leave(waiters[1])
    line.wake(2)
    assert woken == [0, 2] and len(line) == 1
    line.wake_all()
    line.wake_one()
    assert woken == [0, 2, 3]


def test_a_place_in_the_output_queue_wakes_one_and_relief_all() -> None:
    queue, woken = OutputQueue(2), []
    for item in range(2):
        queue.push(item)
    for number in range(6):
        queue.wait(lambda number=number: woken.append(number))
    queue.pop()
    assert woken == [0]
    queue.pop()
    assert woken == [0, 1, 2]
    assert queue.relieve() and woken == [0, 1, 2, 3, 4, 5]
    assert not queue.relieve()


def test_what_waits_in_an_input_queue_is_counted_until_it_is_taken_or_dropped() -> None:
    memory = MemoryTracker("instance")
    queue = InputQueue("input 0")
    queue.account_to(memory, len)
    for item in ("four", "fives", "sixsix"):
        queue.put(item)
    assert memory.held == 15
    queue.take()
    assert memory.held == 11
    queue.drop()
    queue.put("more")
    assert memory.held == 0
