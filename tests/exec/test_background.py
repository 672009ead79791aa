"""Background work that never ends, and the waiter queues of blocked drivers."""

from __future__ import annotations

import pytest

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec import FragmentInstance, OperatorContext, OutputQueue, execute, instance
from pyspark_pipeline.exec.background import BackgroundWork, StallDetector
from pyspark_pipeline.exec.event import WaiterQueue
from pyspark_pipeline.exec.input_queue import InputQueue
from pyspark_pipeline.memory import MemoryTracker
from tests.exec.kit import Sink, Source, pipeline


class Stuck(Source):
    """A source with a background reader that never ends."""

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        context.background.started("stuck reader")

    def is_finished(self) -> bool:
        return False


@pytest.mark.parametrize("threads", [1, 2])
def test_unending_background_work_raises_with_a_dump_of_every_driver(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instance, "_BACKGROUND_END_SECONDS", 0.0)
    queue = OutputQueue()
    background = BackgroundWork(stall_seconds=0.2)
    stuck = FragmentInstance([pipeline(Stuck([]), Sink(queue))], queue, background=background)
    with pytest.raises(EngineBugError, match=r"does not end in 0\.2 s: stuck reader\n(?s:.*)driver 0 of pipeline 0"):
        list(execute(stuck, threads))


def test_stall_detector_reports_a_stall_only_after_stall_seconds() -> None:
    work = BackgroundWork(stall_seconds=-1.0)
    detector = StallDetector(work)
    work.started("reader")
    assert detector.is_stalled()
    work.stall_seconds = 60.0
    assert not detector.is_stalled()


def test_input_queue_item_wakes_one_waiter_and_end_wakes_all() -> None:
    queue, woken = InputQueue("input 0"), []
    waiters = [lambda number=number: woken.append(number) for number in range(5)]
    for waiter in waiters:
        queue.ended.subscribe(waiter)
        queue.filled.subscribe(waiter)
    queue.put("a")
    queue.put("b")
    assert woken == [0, 1]
    assert queue.take() == "a"
    assert woken == [0, 1, 2]  # an item is left: one more waiter may take it
    queue.put("c")
    assert woken == [0, 1, 2, 3]
    queue.pass_on()  # a driver that cannot take an item leaves it to the next
    assert woken == [0, 1, 2, 3, 4]
    queue.end()
    assert woken[5:] == [0, 1, 2, 3, 4]


def test_waiter_queue_wakes_each_waiter_once_in_order_except_cancelled_ones() -> None:
    queue, woken = WaiterQueue("room"), []
    waiters = [lambda number=number: woken.append(number) for number in range(4)]
    for waiter in (*waiters, waiters[0]):
        queue.subscribe(waiter)
    queue.unsubscribe(waiters[1])
    queue.wake(2)
    assert woken == [0, 2] and len(queue) == 1
    queue.notify()
    queue.wake()
    assert woken == [0, 2, 3]


def test_output_queue_pop_wakes_one_waiter_and_wake_waiters_wakes_all() -> None:
    queue, woken = OutputQueue(2), []
    for item in range(2):
        queue.push(item)
    for number in range(6):
        queue.room.subscribe(lambda number=number: woken.append(number))
    queue.pop()
    assert woken == [0]
    queue.pop()
    assert woken == [0, 1, 2]
    assert queue.wake_waiters() and woken == [0, 1, 2, 3, 4, 5]
    assert not queue.wake_waiters()


def test_input_queue_counts_items_until_taken_or_dropped() -> None:
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
