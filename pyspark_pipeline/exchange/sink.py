"""The base of exchange sinks: transport, channels, counters, and the finish protocol.

The transport (:mod:`~.transport`) belongs to the instance; when it is full the sink needs no input, which blocks its
driver. The last message of a sink is sent in ``set_finishing``. A driver whose transport still waits for
acknowledgements stays in PENDING_FINISH; a driver whose destinations want nothing more ends early.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import nullcontext
from dataclasses import dataclass, field

import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.exchange.channel import Channel, Concat
from pyspark_pipeline.exchange.codec import plain_schema
from pyspark_pipeline.exchange.tail_buffer import TailBuffer
from pyspark_pipeline.exchange.transport import Pack, Transport
from pyspark_pipeline.exec.blocking import BlockingReason
from pyspark_pipeline.exec.chunk_bytes import ChunkBytes
from pyspark_pipeline.exec.event import Waker
from pyspark_pipeline.exec.operator import Chunk, Operator
from pyspark_pipeline.exec.short_calls import SHORT_CALLS_LOCK
from pyspark_pipeline.metrics import declare_counter

MESSAGES = declare_counter("messages_sent", "Chunk messages made", unit="messages")
ENCODING = declare_counter("encoding_ns", "Time to make chunk messages", unit="ns")
BYTES = declare_counter("bytes_sent", "Bytes of chunk messages made", unit="bytes")

#: Encoding a message of fewer bytes takes no longer than a call.
_SHORT_BYTES = 16 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkSettings:
    """Size limits of an exchange sink, from the options of the same names."""

    batch_rows: int = 65536
    chunk_bytes: int = 262144
    buffer_bytes: int = 67108864


@dataclass(frozen=True, slots=True)
class SinkContext:
    """State shared by the sinks of an instance: column types, number of partitions, transport, limits, tail buffer."""

    types: tuple[DataType, ...]
    destinations: int
    transport: Transport
    settings: SinkSettings
    tail: TailBuffer = field(default_factory=TailBuffer)


class ExchangeSinkOperator(Operator):
    """Sends chunks through the transport of its sink context."""

    def __init__(self, sink_context: SinkContext) -> None:
        self.schema = plain_schema(sink_context.types)
        self.settings = sink_context.settings
        self.bytes_of = ChunkBytes()
        self._transport = sink_context.transport
        self._destinations = sink_context.destinations
        self._channels: dict[tuple[int, int], Channel] = {}
        self._finishing = False
        self._pack: Pack = sink_context.transport.pack
        self._concat: Concat = pa.concat_batches

    def channel(self, destination: int, driver: int = -1) -> Channel:
        """Return the channel of a destination (and of a driver there), created at first use."""
        made = self._channels.get((destination, driver))
        if made is None:
            made = Channel(
                destinations=self.destinations_of(destination),
                driver=driver,
                transport=self._transport,
                pack=self._pack,
                concat=self._concat,
                chunk_rows=self.settings.batch_rows,
                chunk_bytes=self.settings.chunk_bytes,
            )
            self._channels[destination, driver] = made
        return made

    def destinations_of(self, destination: int) -> tuple[int, ...]:
        """Return the partitions that the channel of a destination sends to."""
        return (destination,)

    def need_input(self) -> bool:
        return not self._finishing and not self._transport.is_full()

    def is_blocked(self, waker: Waker) -> BlockingReason | None:
        waker.wait_for(self._transport.changed)
        if self._finishing or not self._transport.is_full():
            return None
        waker.wait_for(self._transport.room)
        return BlockingReason.CONSUMER

    def push_chunk(self, chunk: Chunk) -> None:
        if chunk.num_rows:
            self.accept(chunk)
            if not self.context.memory.try_reserve(self.held_bytes(), may_reclaim=False):
                self.flush()
                self.context.memory.reserve(self.held_bytes())

    @abstractmethod
    def accept(self, chunk: Chunk) -> None:
        """Send the chunk's rows or buffer them."""

    def flush(self) -> None:
        """Send all buffered rows."""
        is_little = self.held_bytes() < _SHORT_BYTES * len(self._channels)
        with SHORT_CALLS_LOCK if is_little else nullcontext():
            for channel in self._channels.values():
                channel.flush()

    def held_bytes(self) -> int:
        """Return the number of buffered bytes."""
        return sum(channel.nbytes for channel in self._channels.values())

    def set_finishing(self) -> None:
        if self._finishing:
            return
        self._finishing = True
        if self._transport.is_abandoned():
            self.drop()
        else:
            self.flush()
        self._transport.close_sink()
        self.context.metrics.add(MESSAGES, sum(c.sent_messages for c in self._channels.values()))
        self.context.metrics.add(ENCODING, sum(c.encode_ns for c in self._channels.values()))
        self.context.metrics.add(BYTES, sum(c.sent_bytes for c in self._channels.values()))

    def is_finished(self) -> bool:
        return self._finishing or self._transport.is_abandoned()

    def pending_finish(self) -> bool:
        return self._transport.is_pending()

    def drop(self) -> None:
        """Discard all buffered rows. Idempotent."""
        for channel in self._channels.values():
            channel.drop()

    def set_finished(self) -> None:
        self.drop()

    def set_cancelled(self) -> None:
        self._finishing = True
        self._transport.cancel_sink()

    def close(self) -> None:
        self.drop()
        self.context.memory.reserve(0)
