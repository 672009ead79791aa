"""The source of a fragment whose input is chunks that an exchange or the JVM made."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial

from pyspark_pipeline.exchange.chunk_row import ChunkRow
from pyspark_pipeline.exchange.codec import payload_bytes, plain_schema, unpack_payload
from pyspark_pipeline.exchange.driver_queues import DriverQueues
from pyspark_pipeline.exec.chunk_accumulate import ChunkAccumulator
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.input_queue import InputQueue
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.exec.short_calls import SHORT_CALLS
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import ExchangeSource

MESSAGES = declare_counter("messages_received", "Chunk messages decoded", unit="messages")
BYTES = declare_counter("bytes_received", "Bytes of chunk messages decoded", unit="bytes")


class ExchangeSourceOperator(Operator):
    """Decodes the messages of one input and joins small ones (an exchange makes many).

    Where the factory says so, what is there goes on first, however little: it may be enough for a LIMIT.
    """

    def __init__(self, factory: ExchangeSourceFactory, driver_sequence: int) -> None:
        self._queue = factory.input.queue_of(driver_sequence)
        self._left = partial(factory.source_left, driver_sequence)
        self._schema = factory.schema
        self._batch_rows = factory.batch_rows
        self._chunks = ChunkAccumulator(factory.batch_rows)
        self._dropped = False
        self._joins_senders = factory.node.joins_senders
        self._sender = -1
        self._stands_in_line = False
        self._hurries = factory.first_at_once

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        context.wake_on(self._queue.ended)
        self._queue.account_to(context.memory.parent or context.memory, _row_bytes)

    def has_output(self) -> bool:
        if self._dropped:
            return False
        if self._chunks.has_chunk() or self._has_rest() or self._queue.has_items():
            return True
        self._stands_in_line = True
        return self._queue.wait(self.context.wake)

    def _has_rest(self) -> bool:
        return not self._chunks.is_empty() and self._queue.is_finished()

    def pull_chunk(self) -> Chunk | None:
        if self._stands_in_line:
            self._stands_in_line = False
            self._queue.leave(self.context.wake)
        while not self._chunks.has_chunk():
            rows = self._taken()
            if not rows:
                if self._queue.is_finished():
                    self._chunks.flush()
                break
            self._decode(rows)
            if self._hurries:
                self._chunks.flush()
                self._hurries = not self._chunks.has_chunk()
        return self._chunks.take() if self._chunks.has_chunk() else None

    def _taken(self) -> list[ChunkRow]:
        """Take messages that are here, of a chunk's rows together."""
        taken: list[ChunkRow] = []
        left = self._batch_rows
        while left > 0:
            row = self._queue.take()
            if row is None:
                break
            taken.append(row)
            left -= row.rows
        return taken

    def _decode(self, rows: list[ChunkRow]) -> None:
        self.context.metrics.add(MESSAGES, len(rows))
        self.context.metrics.add(BYTES, sum(payload_bytes(row.data) for row in rows))
        with SHORT_CALLS:
            chunks = [unpack_payload(row.data, self._schema) if row.rows else None for row in rows]
        for row, chunk in zip(rows, chunks, strict=True):
            if not self._joins_senders and row.sender != self._sender:
                self._chunks.flush()
                self._sender = row.sender
            if chunk is not None:
                self._chunks.add(chunk)

    def is_finished(self) -> bool:
        return self._dropped or (self._queue.is_finished() and self._chunks.is_empty())

    def set_finished(self) -> None:
        self._leave()

    def close(self) -> None:
        self._leave()

    def _leave(self) -> None:
        """Drop what is here, and say that nothing more is wanted. Repeatable."""
        if not self._dropped:
            self._dropped = True
            self._chunks.clear()
            self._left()


class ExchangeSourceFactory(OperatorFactory):
    """Makes the sources of one input; any driver takes the next message from its queue, but see :meth:`deal`.

    ``first_at_once``: the first chunk of each is not joined to be larger.
    """

    name = "ExchangeSource"
    first_at_once = False

    def __init__(self, node: ExchangeSource, queue: InputQueue, batch_rows: int) -> None:
        self.node = node
        self.input: InputQueue | DriverQueues = queue
        self.schema = plain_schema([field.type for field in node.output])
        self.batch_rows = batch_rows
        self._sources = 0
        self._lock = threading.Lock()

    def deal(self, keys: Sequence[Expr], drivers: int) -> bool:
        """Give each driver the messages that name it, if that brings all rows of equal ``keys`` to one driver."""
        dealt = self.node.dealt_by
        if not dealt or self.node.drivers != drivers or not all(key in keys for key in dealt):
            return False
        self.input = DriverQueues(self.input.name, drivers)
        return True

    def create(self, dop: int, driver_sequence: int) -> ExchangeSourceOperator:
        self._sources += 1
        return ExchangeSourceOperator(self, driver_sequence)

    def source_left(self, driver_sequence: int) -> None:
        """Learn that one source wants no more; the last one of a queue drops what it has and what still comes."""
        with self._lock:
            self._sources -= 1
            is_last = not self._sources
        if is_last or isinstance(self.input, DriverQueues):
            self.input.queue_of(driver_sequence).drop()


def _row_bytes(row: ChunkRow) -> int:
    return payload_bytes(row.data)
