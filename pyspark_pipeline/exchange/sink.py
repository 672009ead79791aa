"""What every exchange sink shares: its transport, its channels, counting, and the finish protocol.

The transport (:mod:`~.transport`) is the instance's; when it is full the sink needs no input, which blocks its
driver. The last message of a sink is sent in ``set_finishing``. A driver whose transport still waits for
acknowledgements stays in PENDING_FINISH; one whose destinations want nothing more ends early.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import nullcontext
from dataclasses import dataclass, field

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.exchange.channel import Channel
from pyspark_pipeline.exchange.codec import plain_schema
from pyspark_pipeline.exchange.shared_rest import SharedRest
from pyspark_pipeline.exchange.transport import Transport
from pyspark_pipeline.exec.chunk_bytes import ChunkBytes
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk, Operator
from pyspark_pipeline.exec.short_calls import SHORT_CALLS
from pyspark_pipeline.metrics import declare_counter

MESSAGES = declare_counter("messages_sent", "Chunk messages made", unit="messages")
ENCODING = declare_counter("encoding_ns", "Time to make chunk messages", unit="ns")
BYTES = declare_counter("bytes_sent", "Bytes of chunk messages made", unit="bytes")

#: To make a message of fewer bytes takes no longer than a call.
_SHORT_BYTES = 16 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkSettings:
    """Sizes that an exchange sink keeps to; from the options of the same names."""

    batch_rows: int = 65536
    chunk_bytes: int = 262144
    buffer_bytes: int = 67108864


@dataclass(frozen=True, slots=True)
class Outlet:
    """What the sinks of an instance share: the columns they send, to how many partitions, and through what."""

    types: tuple[DataType, ...]
    destinations: int
    transport: Transport
    settings: SinkSettings
    rest: SharedRest = field(default_factory=SharedRest)


class ExchangeSinkOperator(Operator):
    """Takes chunks and sends them through an outlet."""

    def __init__(self, outlet: Outlet) -> None:
        self.schema = plain_schema(outlet.types)
        self.settings = outlet.settings
        self.bytes_of = ChunkBytes()
        self._transport = outlet.transport
        self._destinations = outlet.destinations
        self._channels: dict[tuple[int, int], Channel] = {}
        self._finishing = False

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        context.wake_on(self._transport.changed)

    def channel(self, destination: int, driver: int = -1) -> Channel:
        """Give the channel of a destination (and of a driver there), made at its first use."""
        made = self._channels.get((destination, driver))
        if made is None:
            made = Channel(
                destinations=self.addresses(destination),
                driver=driver,
                transport=self._transport,
                chunk_rows=self.settings.batch_rows,
                chunk_bytes=self.settings.chunk_bytes,
            )
            self._channels[destination, driver] = made
        return made

    def addresses(self, destination: int) -> tuple[int, ...]:
        """Give where the chunks of a channel go."""
        return (destination,)

    def need_input(self) -> bool:
        if self._finishing:
            return False
        return not self._transport.is_full() or self._transport.wait(self.context.wake)

    def push_chunk(self, chunk: Chunk) -> None:
        if chunk.num_rows:
            self.accept(chunk)
            if not self.context.memory.try_hold(self.held_bytes(), may_ask=False):
                self.flush()
                self.context.memory.hold(self.held_bytes())

    @abstractmethod
    def accept(self, chunk: Chunk) -> None:
        """Send the chunk's rows or keep them for later."""

    def flush(self) -> None:
        """Send everything kept."""
        is_little = self.held_bytes() < _SHORT_BYTES * len(self._channels)
        with SHORT_CALLS if is_little else nullcontext():
            for channel in self._channels.values():
                channel.flush()

    def held_bytes(self) -> int:
        """Say how many bytes are kept."""
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
        """Forget everything kept. Repeatable."""
        for channel in self._channels.values():
            channel.drop()

    def set_finished(self) -> None:
        self.drop()

    def set_cancelled(self) -> None:
        self._finishing = True
        self._transport.cancel_sink()

    def close(self) -> None:
        self.drop()
        self.context.memory.hold(0)
