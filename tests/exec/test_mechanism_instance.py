"""Instances: creation and numbering of operators, the threads of drivers, and their metrics."""

from __future__ import annotations

import threading

import pytest

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exec import Chunk, FragmentInstance, OperatorContext, OutputQueue, Pipeline, execute
from pyspark_pipeline.exec.local_distribution import broadcast, round_robin
from pyspark_pipeline.exec.local_exchange import LocalExchange
from pyspark_pipeline.exec.local_exchange_operators import LocalExchangeSinkFactory, LocalExchangeSourceFactory
from pyspark_pipeline.exec.output_sink import OutputSinkFactory
from pyspark_pipeline.ids import OperatorId
from tests.exec.kit import Made, Sink, Source, Step, chunk, chunks, pipeline, values


class Placed(Step):
    """Records its context."""

    contexts: list[OperatorContext] = []

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        Placed.contexts.append(context)


def test_factory_creates_one_operator_per_driver_with_its_id() -> None:
    Placed.contexts = []
    queue = OutputQueue()
    sequences: list[int] = []

    def step(sequence: int) -> Placed:
        sequences.append(sequence)
        return Placed()

    factories = (Made("source", lambda _: Source(chunks(2))), Made("step", step), OutputSinkFactory(queue))
    instance = FragmentInstance([Pipeline(id=5, factories=factories, dop=3)], queue)
    assert sequences == [0, 1, 2] and not Placed.contexts  # no operator is prepared in the constructor
    assert len(list(execute(instance))) == 6
    assert [context.id for context in Placed.contexts] == [
        OperatorId(pipeline=5, driver=i, index=1, name="step") for i in range(3)  # type: ignore[arg-type]
    ]
    assert [(context.driver_sequence, context.dop) for context in Placed.contexts] == [(0, 3), (1, 3), (2, 3)]
    assert str(Placed.contexts[2].id) == "operator 1 (step) of pipeline 5, driver 2"
    assert len({id(context.memory) for context in Placed.contexts}) == 3


def test_pipeline_requires_a_source_and_a_sink() -> None:
    with pytest.raises(EngineBugError, match="pipeline 2 has no source or no sink"):
        FragmentInstance([Pipeline(id=2, factories=(Made("source", lambda _: Source([])),))], OutputQueue())


@pytest.mark.parametrize("threads", [1, 4])
def test_each_pipeline_has_its_own_parallelism(threads: int) -> None:
    """3 drivers gathered into 1, spread over 4 again: N:1, then 1:N."""
    queue = OutputQueue()
    gather = LocalExchange("gather", round_robin, num_consumers=1, max_bytes=1)
    spread = LocalExchange("spread", round_robin, num_consumers=4, max_bytes=1)
    used: set[int] = set()

    def above(driver: int) -> Step:
        def work(given: Chunk) -> Chunk:
            used.add(driver)
            return given

        return Step(work=work)

    sources = Made("source", lambda i: Source([chunk(100 * i + 4 * j) for j in range(8)]))
    pipelines = [
        Pipeline(id=0, factories=(sources, LocalExchangeSinkFactory(gather)), dop=3),
        Pipeline(id=1, factories=(LocalExchangeSourceFactory(gather), LocalExchangeSinkFactory(spread))),
        Pipeline(id=2, factories=(LocalExchangeSourceFactory(spread), Made("step", above), OutputSinkFactory(queue)),
                 dop=4),
    ]  # fmt: skip
    instance = FragmentInstance(pipelines, queue)
    got = values(list(execute(instance, threads)))
    assert sorted(got) == sorted(100 * i + n for i in range(3) for n in range(32))
    assert used == {0, 1, 2, 3}
    assert [p["dop"] for p in instance.metrics()["pipelines"]] == [3, 1, 4]


def test_broadcast_shares_the_chunk_without_copying() -> None:
    exchange = LocalExchange("broadcast", broadcast, num_consumers=3, max_bytes=1 << 20)
    sink = LocalExchangeSinkFactory(exchange).create(1, 0)
    given = chunk(0)
    sink.push_chunk(given)
    assert all(exchange.take(consumer)[0] is given for consumer in range(3))


def test_executor_uses_at_most_the_given_number_of_threads() -> None:
    queue = OutputQueue()
    seen: set[int] = set()

    def work(given: Chunk) -> Chunk:
        seen.add(threading.get_ident())
        return given

    many = [pipeline(Source(chunks(5)), Step(work=work), Sink(queue), number=i) for i in range(40)]
    assert len(list(execute(FragmentInstance(many, queue), 3))) == 200
    assert 1 <= len(seen) <= 3 and threading.get_ident() not in seen


@pytest.mark.parametrize("threads", [1, 3])
def test_every_wait_is_accounted_to_its_operator_and_reason(threads: int) -> None:
    queue = OutputQueue(capacity=1)
    instance = FragmentInstance([pipeline(Source(chunks(50)), Step(), Sink(queue))], queue)
    assert len(list(execute(instance, threads))) == 50
    told = instance.metrics()["pipelines"][0]
    assert set(told["drivers"][0]["blocks"]) <= {"consumer", "operator"}
    assert told["operators"][2]["blocked_s"]["consumer"] > 0
    assert "blocked_s" not in told["operators"][0]
