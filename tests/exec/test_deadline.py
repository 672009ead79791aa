"""A deadline wakes its drivers when it passes or is ended, and leaves no thread."""

from __future__ import annotations

import threading

import pytest

from pyspark_pipeline.exec import Chunk, FragmentInstance, OutputQueue, execute
from pyspark_pipeline.exec.background import BackgroundWork
from pyspark_pipeline.exec.blocking import BlockingReason
from pyspark_pipeline.exec.deadline import Deadline
from pyspark_pipeline.exec.event import Waker
from tests.exec.kit import Recorded, Sink, chunk, pipeline, values

HOUR_MS = 3_600_000


def deadlines() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("pipeline-deadline")]


def test_deadline_passes_after_its_time() -> None:
    background, deadline, passed = BackgroundWork(), Deadline("filter", 1), threading.Event()
    deadline.passed.subscribe(passed.set)
    assert not deadline.is_passed() and background.is_idle()
    deadline.start(background)
    assert passed.wait(20) and deadline.is_passed()
    assert background.wait_until_idle(20)
    deadline.close()
    assert deadlines() == []


@pytest.mark.parametrize("close", [False, True])
def test_deadline_can_be_ended_early(close: bool) -> None:
    background, deadline, passed = BackgroundWork(), Deadline("filter", HOUR_MS), threading.Event()
    deadline.passed.subscribe(passed.set)
    deadline.start(background)
    assert background.names() == ["filter"] and not deadline.is_passed()
    if close:
        deadline.close()
        assert deadlines() == [] and background.is_idle()
    deadline.end()
    assert deadline.is_passed() and passed.wait(20)
    deadline.close()
    assert background.is_idle()


def test_deadline_of_zero_starts_no_thread() -> None:
    background, deadline = BackgroundWork(), Deadline("filter", 0)
    deadline.start(background)
    assert deadline.is_passed() and background.is_idle() and deadlines() == []


class Delayed(Recorded):
    """A source blocked until a deadline that starts when its driver is blocked."""

    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self.deadline = deadline
        self.left = [chunk(0)]

    def is_blocked(self, waker: Waker) -> BlockingReason:
        waker.wait_for(self.deadline.passed)
        self.deadline.start(self.context.background)
        return BlockingReason.RUNTIME_FILTER

    def has_output(self) -> bool:
        return bool(self.left) and self.deadline.is_passed()

    def pull_chunk(self) -> Chunk | None:
        return self.left.pop()

    def is_finished(self) -> bool:
        return not self.left

    def close(self) -> None:
        super().close()
        self.deadline.close()


@pytest.mark.parametrize("threads", [1, 3])
def test_deadline_wakes_a_driver_blocked_on_nothing_else(threads: int) -> None:
    queue = OutputQueue()
    instance = FragmentInstance([pipeline(Delayed(Deadline("filter", 500)), Sink(queue))], queue)
    assert values(list(execute(instance, threads))) == [0, 1, 2, 3]
    assert instance.metrics()["pipelines"][0]["drivers"][0]["blocks"] == {"runtime filter": 1}
    assert "INPUT_EMPTY" in instance.drivers[0].machine.story()
    assert deadlines() == []
