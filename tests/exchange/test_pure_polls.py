"""Polls and dumps of blocked drivers change nothing: the same waiters are registered before and after."""

from __future__ import annotations

from pyspark_pipeline.exchange import ChunkRow, ExchangeSourceFactory, encode_chunk
from pyspark_pipeline.exchange.single_sink import SingleSinkOperator
from pyspark_pipeline.exchange.sink import SinkContext, SinkSettings
from pyspark_pipeline.exchange.transport import StreamTransport
from pyspark_pipeline.exec import Event, FragmentInstance, OutputQueue, Pipeline
from pyspark_pipeline.exec.driver import Driver
from pyspark_pipeline.exec.input_queue import InputQueue
from pyspark_pipeline.exec.local_distribution import round_robin
from pyspark_pipeline.exec.local_exchange import LocalExchange
from pyspark_pipeline.exec.local_exchange_operators import LocalExchangeSinkFactory, LocalExchangeSourceFactory
from pyspark_pipeline.exec.states import BLOCKED
from pyspark_pipeline.plan.nodes import ExchangeSource
from tests.exec.kit import Made, Sink, Source, chunk, chunks
from tests.operators.kit import fields

NODE = ExchangeSource(output=fields("k:bigint"), input_id=0)


def run(driver: Driver) -> str:
    """Run a driver until it blocks."""
    while driver.state not in BLOCKED:
        driver.process()
    return driver.state.name


def prepared(pipelines: list[Pipeline], output: OutputQueue) -> FragmentInstance:
    instance = FragmentInstance(pipelines, output)
    instance.prepare()
    for driver in instance.drivers:
        driver.submit()
    return instance


def test_dump_of_a_stuck_query_changes_no_waiter() -> None:
    queue, output = InputQueue("input 0"), OutputQueue(1)
    exchange = LocalExchange("gather", round_robin, num_consumers=1, max_bytes=1)
    sinks = SinkContext((NODE.output[0].type,), 1, StreamTransport(output), SinkSettings())
    sink = Made("sink", lambda _: SingleSinkOperator(sinks))
    pipelines = [
        Pipeline(id=0, factories=(ExchangeSourceFactory(NODE, queue, 8), LocalExchangeSinkFactory(exchange)), dop=2),
        Pipeline(id=1, factories=(LocalExchangeSourceFactory(exchange), sink)),
        Pipeline(id=2, factories=(Made("source", lambda _: Source(chunks(3))), sink)),
    ]
    output.push("first")
    instance = prepared(pipelines, output)
    assert [run(driver) for driver in instance.drivers] == ["INPUT_EMPTY", "INPUT_EMPTY", "OUTPUT_FULL", "OUTPUT_FULL"]
    events: list[Event] = [queue.filled, queue.ended, output.room, exchange.drained, exchange.changed(0)]
    waiting = [event.waiters() for event in events]
    assert [len(waiters) for waiters in waiting] == [2, 2, 2, 2, 1]
    dumped = instance.dump()
    assert not any(driver.can_progress() for driver in instance.drivers)
    assert instance.dump() == dumped
    assert [event.waiters() for event in events] == waiting
    instance.close()
    assert not any(map(len, events))



def test_driver_woken_for_an_item_that_it_cannot_take_wakes_the_next() -> None:
    queue, room = InputQueue("input 0"), [True, True]

    class Choosy(Sink):
        def __init__(self, number: int) -> None:
            super().__init__(OutputQueue())
            self.number = number

        def need_input(self) -> bool:
            return room[self.number]

    sink = Made("sink", Choosy)
    pipelines = [Pipeline(id=0, factories=(ExchangeSourceFactory(NODE, queue, 8), sink), dop=2)]
    instance = prepared(pipelines, OutputQueue())
    first, second = instance.drivers
    assert [run(first), run(second)] == ["INPUT_EMPTY", "INPUT_EMPTY"]
    room[0] = False
    queue.put(ChunkRow(partition=0, rows=4, data=encode_chunk(chunk(0))))
    assert first.woken and not second.woken
    first.resume()
    assert run(first) == "OUTPUT_FULL" and second.woken
    instance.close()
