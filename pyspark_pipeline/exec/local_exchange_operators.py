"""The sink and the source of a local exchange."""

from __future__ import annotations

from pyspark_pipeline.exec.blocking import BlockingReason
from pyspark_pipeline.exec.chunk_bytes import ChunkBytes
from pyspark_pipeline.exec.chunk_concat import concat_chunks
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.event import Waker
from pyspark_pipeline.exec.local_exchange import LocalExchange
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory


class LocalExchangeSinkOperator(Operator):
    """Partitions the chunks of one producer driver into the consumers' queues."""

    def __init__(self, exchange: LocalExchange) -> None:
        self._exchange = exchange
        self._partition = exchange.distribution(exchange.add_producer(), exchange.num_consumers)
        self._bytes = ChunkBytes()
        self._ended = False

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        self._exchange.account_to(context.memory.parent)

    def is_blocked(self, waker: Waker) -> BlockingReason | None:
        waker.wait_for(self._exchange.drained)
        return BlockingReason.CONSUMER if self._exchange.is_full() else None

    def need_input(self) -> bool:
        return not self._ended and not self._exchange.is_full()

    def push_chunk(self, chunk: Chunk) -> None:
        rows, nbytes = chunk.num_rows, self._bytes.estimate(chunk)
        for consumer, piece in self._partition(chunk):
            self._exchange.put(consumer, piece, nbytes * piece.num_rows // rows or 1)

    def set_finishing(self) -> None:
        self._ended = True
        self._exchange.producer_done()

    def is_finished(self) -> bool:
        return self._ended or self._exchange.is_abandoned()


class LocalExchangeSourceOperator(Operator):
    """Emits the queued pieces of one consumer driver, small ones concatenated."""

    def __init__(self, exchange: LocalExchange, consumer: int) -> None:
        self._exchange = exchange
        self._consumer = consumer

    def has_output(self) -> bool:
        return self._exchange.has_pieces(self._consumer)

    def is_blocked(self, waker: Waker) -> BlockingReason | None:
        waker.wait_for(self._exchange.changed(self._consumer))
        return None if self.has_output() else BlockingReason.PRODUCER

    def pull_chunk(self) -> Chunk | None:
        pieces = self._exchange.take(self._consumer)
        return concat_chunks(pieces) if pieces else None

    def is_finished(self) -> bool:
        return self._exchange.is_finished(self._consumer)

    def set_finished(self) -> None:
        self._exchange.close_consumer(self._consumer)

    def close(self) -> None:
        self._exchange.close_consumer(self._consumer)


class LocalExchangeSinkFactory(OperatorFactory):
    """Creates sinks; several pipelines may each have such a factory on the same exchange (UNION ALL)."""

    name = "LocalExchangeSink"
    replay_dependencies = "the readers of its exchange"

    def __init__(self, exchange: LocalExchange) -> None:
        self._exchange = self.shared_state = exchange

    def create(self, dop: int, driver_sequence: int) -> Operator:
        return LocalExchangeSinkOperator(self._exchange)


class LocalExchangeSourceFactory(OperatorFactory):
    """Creates sources; the pipeline's ``dop`` must be the exchange's number of consumers."""

    name = "LocalExchangeSource"

    def __init__(self, exchange: LocalExchange) -> None:
        self._exchange = self.shared_state = exchange

    def create(self, dop: int, driver_sequence: int) -> Operator:
        if dop != self._exchange.num_consumers:
            raise ValueError(f"{self._exchange.name} has {self._exchange.num_consumers} consumers, its pipeline {dop}")
        return LocalExchangeSourceOperator(self._exchange, driver_sequence)
