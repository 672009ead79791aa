"""The blocking reasons of drivers in metrics and dumps."""

from __future__ import annotations

import pytest

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec import FragmentInstance, OutputQueue, Pipeline, execute
from pyspark_pipeline.exec.blocking import REASONS, BlockingReason
from pyspark_pipeline.exec.event import Event, Waker
from pyspark_pipeline.exec.local_distribution import round_robin
from pyspark_pipeline.exec.local_exchange import LocalExchange
from pyspark_pipeline.exec.local_exchange_operators import LocalExchangeSinkFactory, LocalExchangeSourceFactory
from pyspark_pipeline.exec.states import BLOCKED
from tests.exec.kit import Made, Recorded, Sink, Source, chunks, pipeline

both = pytest.mark.parametrize("threads", [1, 3])


def test_every_blocked_state_has_a_distinct_default_reason() -> None:
    assert set(REASONS) == BLOCKED
    assert len(set(REASONS.values())) == len(BLOCKED)


@both
def test_local_exchange_blocks_on_producer_and_on_consumer(threads: int) -> None:
    queue = OutputQueue(capacity=1)
    exchange = LocalExchange("gather", round_robin, num_consumers=1, max_bytes=1)
    source = Made("source", lambda _: Source(chunks(50)))
    sink = Made("sink", lambda _: Sink(queue))
    pipelines = [
        Pipeline(id=0, factories=(LocalExchangeSourceFactory(exchange), sink)),
        Pipeline(id=1, factories=(source, LocalExchangeSinkFactory(exchange))),
    ]
    instance = FragmentInstance(pipelines, queue)
    assert len(list(execute(instance, threads))) == 50
    below, above = instance.metrics()["pipelines"]
    assert below["operators"][0]["blocked_s"].keys() == {"producer"}
    assert below["operators"][1]["blocked_s"].keys() <= {"consumer"}
    assert above["operators"][1]["blocked_s"].keys() == {"consumer"}
    assert below["drivers"][0]["blocks"]["producer"] >= 1 and above["drivers"][0]["blocks"].keys() == {"consumer"}


class Waiting(Recorded):
    """A source without output that returns ``reason``, or raises instead."""

    def __init__(self, reason: BlockingReason | None, fails: str = "") -> None:
        super().__init__(fails=fails)
        self.reason = reason

    def is_blocked(self, waker: Waker) -> BlockingReason | None:
        self.polled("is_blocked")
        return self.reason

    def is_finished(self) -> bool:
        return False


@both
@pytest.mark.parametrize(("reason", "name"), [(None, "split"), (BlockingReason.JOIN_PROBE, "join probe")])
def test_dump_names_reason_of_operator_or_default_of_state(
    reason: BlockingReason | None, name: str, threads: int
) -> None:
    queue = OutputQueue()
    stuck = pipeline(Waiting(reason), Sink(queue), number=6)
    with pytest.raises(EngineBugError, match="nothing can wake one") as caught:
        list(execute(FragmentInstance([stuck], queue), threads))
    line = f"driver 0 of pipeline 6: INPUT_EMPTY, waits for {name}, because of operator 0 (waiting)"
    assert line in str(caught.value)


@both
def test_error_in_is_blocked_names_the_operator(threads: int) -> None:
    queue = OutputQueue()
    source = Waiting(None, fails="is_blocked")
    with pytest.raises(EngineBugError, match=r"in is_blocked of operator 0 \(waiting\) of pipeline 0"):
        list(execute(FragmentInstance([pipeline(source, Sink(queue))], queue), threads))
    assert source.log[-1] == "close"


class Notifying(Waiting):
    """Subscribes to ``event``; notifies it when cancelled, if it is the failing one."""

    def __init__(self, event: Event, fails: str = "") -> None:
        super().__init__(None, fails)
        self.event = event

    def is_blocked(self, waker: Waker) -> BlockingReason | None:
        waker.wait_for(self.event)
        return super().is_blocked(waker)

    def set_cancelled(self) -> None:
        super().set_cancelled()
        if self.fails:
            self.event.notify()


@both
def test_blocked_driver_ends_without_error_when_another_fails_to_start(threads: int) -> None:
    queue, event = OutputQueue(), Event("news")
    waits, fails = Notifying(event), Notifying(event, fails="is_blocked")
    pipelines = [pipeline(waits, Sink(queue)), pipeline(fails, Sink(queue), number=1)]
    with pytest.raises(EngineBugError, match=r"in is_blocked of operator 0 \(notifying\) of pipeline 1") as caught:
        list(execute(FragmentInstance(pipelines, queue), threads))
    assert not any("may not go" in note for note in getattr(caught.value, "__notes__", []))
    assert waits.log[-1] == fails.log[-1] == "close"
