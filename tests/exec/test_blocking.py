"""What a blocked driver waits for, in the metrics and in a dump."""

from __future__ import annotations

import pytest

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec import FragmentInstance, OperatorContext, OutputQueue, Pipeline, execute
from pyspark_pipeline.exec.blocking import REASONS, BlockingReason
from pyspark_pipeline.exec.event import Event
from pyspark_pipeline.exec.local_distribution import pass_through
from pyspark_pipeline.exec.local_exchange import LocalExchange
from pyspark_pipeline.exec.local_exchange_operators import LocalExchangeSinkFactory, LocalExchangeSourceFactory
from pyspark_pipeline.exec.states import BLOCKED
from tests.exec.kit import Made, Recorded, Sink, Source, chunks, pipeline

both = pytest.mark.parametrize("threads", [1, 3])


def test_every_blocked_state_has_a_reason_of_its_own() -> None:
    assert set(REASONS) == BLOCKED
    assert len(set(REASONS.values())) == len(BLOCKED)


@both
def test_a_local_exchange_waits_for_its_producer_and_for_its_consumer(threads: int) -> None:
    queue = OutputQueue(capacity=1)
    exchange = LocalExchange("gather", pass_through, num_consumers=1, max_bytes=1)
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
    """A source that never has anything, and says why, or fails to."""

    def __init__(self, reason: BlockingReason | None, fails: str = "") -> None:
        super().__init__(fails=fails)
        self.reason = reason

    def blocking_reason(self) -> BlockingReason | None:
        self.asked("blocking_reason")
        return self.reason

    def is_finished(self) -> bool:
        return False


@both
@pytest.mark.parametrize(("reason", "told"), [(None, "split"), (BlockingReason.JOIN_PROBE, "join probe")])
def test_a_dump_tells_the_operators_reason_or_that_of_the_state(
    reason: BlockingReason | None, told: str, threads: int
) -> None:
    queue = OutputQueue()
    stuck = pipeline(Waiting(reason), Sink(queue), number=6)
    with pytest.raises(EngineBugError, match="nothing can wake one") as caught:
        list(execute(FragmentInstance([stuck], queue), threads))
    line = f"driver 0 of pipeline 6: INPUT_EMPTY, waits for {told}, because of operator 0 (waiting)"
    assert line in str(caught.value)


@both
def test_an_operator_that_fails_to_give_its_reason_is_blamed(threads: int) -> None:
    queue = OutputQueue()
    source = Waiting(None, fails="blocking_reason")
    with pytest.raises(EngineBugError, match=r"in blocking_reason of operator 0 \(waiting\) of pipeline 0"):
        list(execute(FragmentInstance([pipeline(source, Sink(queue))], queue), threads))
    assert source.log[-1] == "close"


class Telling(Waiting):
    """Waits for ``event``; tells it when cancelled, if it is the one that fails."""

    def __init__(self, event: Event, fails: str = "") -> None:
        super().__init__(None, fails)
        self.event = event

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        context.wake_on(self.event)

    def set_cancelled(self) -> None:
        super().set_cancelled()
        if self.fails:
            self.event.notify()


@both
def test_a_driver_that_waits_already_ends_quietly_where_another_fails_to_start(threads: int) -> None:
    queue, event = OutputQueue(), Event("news")
    waits, fails = Telling(event), Telling(event, fails="blocking_reason")
    pipelines = [pipeline(waits, Sink(queue)), pipeline(fails, Sink(queue), number=1)]
    with pytest.raises(EngineBugError, match=r"in blocking_reason of operator 0 \(telling\) of pipeline 1") as caught:
        list(execute(FragmentInstance(pipelines, queue), threads))
    assert not any("may not go" in note for note in getattr(caught.value, "__notes__", []))
    assert waits.log[-1] == fails.log[-1] == "close"
