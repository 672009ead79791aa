"""The source of a fragment whose input is chunks of an exchange or of the JVM."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

import pyarrow as pa

from pyspark_pipeline.exchange.chunk_row import ChunkRow
from pyspark_pipeline.exchange.codec import payload_bytes, payload_count, plain_schema, unpack_payload
from pyspark_pipeline.exchange.driver_queues import DriverQueues
from pyspark_pipeline.exchange.messages import Messages, form_of
from pyspark_pipeline.exchange.narrow_form import widen
from pyspark_pipeline.exec.blocking import BlockingReason
from pyspark_pipeline.exec.chunk_accumulate import ChunkAccumulator
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.event import Waker
from pyspark_pipeline.exec.input_queue import InputQueue
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.exec.short_calls import SHORT_CALLS_LOCK
from pyspark_pipeline.metrics import declare_counter
from pyspark_pipeline.plan.nodes import ExchangeSource

MESSAGES = declare_counter("messages_received", "Chunk messages decoded", unit="messages")
#: From so many messages on it pays to look for small ones.
_JOINED_ROWS = 8

BYTES = declare_counter("bytes_received", "Bytes of chunk messages decoded", unit="bytes")


class ExchangeSourceOperator(Operator):
    """Decodes the messages of one input and concatenates small ones (an exchange produces many).

    If the factory sets ``flush_first_chunk``, the first chunk is emitted at once, however small: it may suffice for a
    LIMIT.
    """

    def __init__(self, factory: ExchangeSourceFactory, driver_sequence: int) -> None:
        self._queue = factory.input.queue_of(driver_sequence)
        self._on_closed = partial(factory.release_source, driver_sequence)
        self._schema = factory.schema
        self._batch_rows = factory.batch_rows
        self._chunks = ChunkAccumulator(factory.batch_rows)
        self._dropped = False
        self._merge_senders = factory.node.merge_senders
        self._sender = -1
        self._flush_first_chunk = factory.flush_first_chunk

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        self._queue.account_to(context.memory.parent or context.memory, _row_bytes)

    def has_output(self) -> bool:
        if self._dropped:
            return False
        return self._chunks.has_chunk() or self._has_tail() or self._queue.has_items()

    def is_blocked(self, waker: Waker) -> BlockingReason | None:
        waker.wait_for(self._queue.ended)
        if self.has_output():
            self._queue.pass_on()
            return None
        waker.wait_for(self._queue.filled)
        return BlockingReason.SPLIT

    def _has_tail(self) -> bool:
        return not self._chunks.is_empty() and self._queue.is_finished()

    def pull_chunk(self) -> Chunk | None:
        while not self._chunks.has_chunk():
            rows = self._take_messages()
            if not rows:
                if self._queue.is_finished():
                    self._chunks.flush()
                break
            self._decode(rows)
            if self._flush_first_chunk:
                self._chunks.flush()
                self._flush_first_chunk = not self._chunks.has_chunk()
        return self._chunks.take() if self._chunks.has_chunk() else None

    def _take_messages(self) -> list[ChunkRow]:
        """Take queued messages until they have the rows of a chunk."""
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
        self.context.metrics.add(MESSAGES, sum(payload_count(row.data) for row in rows))
        self.context.metrics.add(BYTES, sum(payload_bytes(row.data) for row in rows))
        if len(rows) >= _JOINED_ROWS:
            rows = list(self._joined(rows))
        with SHORT_CALLS_LOCK:
            chunks = [unpack_payload(row.data, self._schema) if row.rows else (None, None) for row in rows]
        for (sender, _), run in groupby(zip(rows, chunks, strict=True), key=self._run_of):
            if sender != self._sender:
                self._chunks.flush()
                self._sender = sender
            self._add([(chunk, widths) for _, (chunk, widths) in run if chunk is not None])

    def _joined(self, rows: list[ChunkRow]) -> Iterator[ChunkRow]:
        """Yield the rows, those of neighbouring small messages of the same form as one."""
        for form, run in groupby(rows, key=self._form_of):
            found = list(run)
            if form is None or len(found) == 1:
                yield from found
            else:
                count = sum(row.rows for row in found)
                yield replace(found[0], rows=count, data=Messages.of([row.data for row in found], count))

    def _form_of(self, row: ChunkRow) -> tuple[int, bytes] | None:
        """Return the sender, if chunks of several must not be merged, and the form of a small message."""
        form = form_of(row.data) if row.rows and isinstance(row.data, pa.Buffer) else None
        return None if form is None else (-1 if self._merge_senders else row.sender, form)

    def _run_of(self, pair: tuple[ChunkRow, tuple[Chunk | None, bytes | None]]) -> tuple[int, bytes | None]:
        """Return the sender, if chunks of several must not be merged, and the widths of the columns of a message."""
        row, (_, widths) = pair
        return -1 if self._merge_senders else row.sender, widths

    def _add(self, run: list[tuple[Chunk, bytes | None]]) -> None:
        """Add chunks of the same widths; narrow ones are widened together."""
        if run and run[0][1] is not None:
            narrow = pa.concat_batches([chunk for chunk, _ in run])
            self._chunks.add(widen(narrow, self._schema))
        else:
            for chunk, _ in run:
                self._chunks.add(chunk)

    def is_finished(self) -> bool:
        return self._dropped or (self._queue.is_finished() and self._chunks.is_empty())

    def set_finished(self) -> None:
        self._abandon()

    def close(self) -> None:
        self._abandon()

    def _abandon(self) -> None:
        """Drop the buffered chunks and release the source's queue. Idempotent."""
        if not self._dropped:
            self._dropped = True
            self._chunks.clear()
            self._on_closed()


class ExchangeSourceFactory(OperatorFactory):
    """Creates the sources of one input. Any driver takes the next message, except after :meth:`use_driver_queues`.

    ``flush_first_chunk``: each source emits its first chunk without concatenating it with others.
    """

    name = "ExchangeSource"
    has_unknown_rows = True
    flush_first_chunk = False

    def __init__(self, node: ExchangeSource, queue: InputQueue, batch_rows: int) -> None:
        self.node = node
        self.input: InputQueue | DriverQueues = queue
        self.schema = plain_schema([field.type for field in node.output])
        self.batch_rows = batch_rows
        self._sources = 0
        self._lock = threading.Lock()

    def use_driver_queues(self, keys: Sequence[object], drivers: int) -> bool:
        """Use a queue per driver if the sender's partitioning sends all rows of equal ``keys`` to one of ``drivers``.

        Returns whether it does.
        """
        partitioning = self.node.partitioning
        if not partitioning or self.node.drivers != drivers or not all(key in keys for key in partitioning):
            return False
        self.input = DriverQueues(self.input.name, drivers)
        return True

    def create(self, dop: int, driver_sequence: int) -> ExchangeSourceOperator:
        self._sources += 1
        return ExchangeSourceOperator(self, driver_sequence)

    def release_source(self, driver_sequence: int) -> None:
        """Release a source that wants no more; the last one of a queue drops its present and future messages."""
        with self._lock:
            self._sources -= 1
            is_last = not self._sources
        if is_last or isinstance(self.input, DriverQueues):
            self.input.queue_of(driver_sequence).drop()


def _row_bytes(row: ChunkRow) -> int:
    return payload_bytes(row.data)
