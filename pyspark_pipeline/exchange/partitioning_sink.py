"""Sinks that partition by row: rows are staged, then partitioned together by one prefix sum and one ``take``.

Partitioning chunk by chunk would cost a slice per destination and chunk. So chunks are staged until there is
about one message for every channel, then: a channel id for each row, prefix-sum grouping, one ``take`` of all
columns, zero-copy slices to the channels. A channel sends when it has enough; the bytes of all channels together are
capped by flushing the largest first. If all rows make small messages, they are made together, without channels. Rows
still staged when a sink ends go to the last sink of the instance.
"""

from __future__ import annotations

from abc import abstractmethod
from time import perf_counter_ns as clock

from pyspark_pipeline.exchange.channel import Channel
from pyspark_pipeline.exchange.codec import plain_chunk
from pyspark_pipeline.exchange.messages import SMALL_BYTES, make_messages
from pyspark_pipeline.exchange.narrow_form import NarrowForm
from pyspark_pipeline.exchange.sink import BYTES, ENCODING, MESSAGES, ExchangeSinkOperator, SinkContext
from pyspark_pipeline.exec.chunk_concat import concat_chunks
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.kernels.arrays import Int32Array, Int64Array
from pyspark_pipeline.kernels.partition import group_rows
from pyspark_pipeline.kernels.take import take_rows
from pyspark_pipeline.metrics import declare_counter

PLACING = declare_counter("placing_ns", "Time to find the destination of every row (its hash, or its range)", unit="ns")

_LEAST_STAGE_BYTES = 4 << 20


class PartitioningSinkOperator(ExchangeSinkOperator):
    """Partitions rows to ``num_channels`` channels."""

    def __init__(self, sink_context: SinkContext, num_channels: int) -> None:
        super().__init__(sink_context)
        sink_context.tail.open_sink()
        self._tail = sink_context.tail
        self._closed = False
        self._num_channels = num_channels
        self._staged: list[Chunk] = []
        self._staged_bytes = 0
        stage_bytes = max(num_channels * self.settings.chunk_bytes, _LEAST_STAGE_BYTES)
        self._stage_bytes = min(stage_bytes, self.settings.buffer_bytes // 2)
        self._narrow = NarrowForm(self.schema) if self._transport.narrows and len(self.schema) else None
        if self._narrow is not None:
            self._pack, self._concat = self._narrow.pack, self._narrow.concat

    @abstractmethod
    def channel_ids(self, chunk: Chunk) -> Int32Array:
        """Return the channel id of each row: int32, shape (rows,), from 0 to ``num_channels`` − 1."""

    @abstractmethod
    def destination(self, channel_id: int) -> tuple[int, int]:
        """Return the partition and the driver (−1: any) of a channel."""

    def accept(self, chunk: Chunk) -> None:
        self._staged.append(chunk)
        self._staged_bytes += self.bytes_of.estimate(chunk)
        if self._staged_bytes >= self._stage_bytes:
            self._partition()

    def flush(self) -> None:
        self._partition()
        super().flush()

    def set_finishing(self) -> None:
        if not self._finishing:
            if self._transport.is_abandoned():
                self.drop()
            around = self.context.memory.parent or self.context.memory
            self._staged = self._tail.hand_over(self._staged, self._staged_bytes, around)
            self._staged_bytes = sum(self.bytes_of.estimate(chunk) for chunk in self._staged)
            self.context.memory.reserve_unchecked(self.held_bytes())
        super().set_finishing()

    def close(self) -> None:
        super().close()
        if not self._closed:
            self._closed = True
            self._tail.close_sink()

    def held_bytes(self) -> int:
        return self._staged_bytes + super().held_bytes()

    def drop(self) -> None:
        super().drop()
        self._staged = []
        self._staged_bytes = 0

    def _partition(self) -> None:
        """Partition the staged rows to the channels."""
        if not self._staged:
            return
        staged = concat_chunks(self._staged)
        self._staged = []
        self._staged_bytes = 0
        started = clock()
        starts, order = group_rows(self.channel_ids(staged), self._num_channels)
        self.context.metrics.add(PLACING, clock() - started)
        schema = self.schema
        if self._narrow is not None:
            staged = self._narrow.narrow(staged)
            schema = self._narrow.schema
        grouped = plain_chunk(take_rows(staged, order), schema)
        if self._send_grouped(grouped, starts):
            return
        bounds = starts.tolist()
        per_row = grouped.nbytes / grouped.num_rows
        for channel_id in range(self._num_channels):
            rows = bounds[channel_id + 1] - bounds[channel_id]
            if rows:
                part = grouped.slice(bounds[channel_id], rows)
                self.channel(*self.destination(channel_id)).add_rows(part, int(per_row * rows))
        self._send_largest()

    def _send_grouped(self, grouped: Chunk, starts: Int64Array) -> bool:
        """Send all rows as one small message a partition; return False if they must take the channels."""
        is_small = grouped.nbytes < SMALL_BYTES * min(self._num_channels, grouped.num_rows)
        if not is_small or self._channels or self._num_channels != self._destinations:
            return False
        if self.destination(0) != (0, -1) or not self._transport.takes_groups():
            return False
        started = clock()
        header, saved = (b"", 0) if self._narrow is None else (self._narrow.header, self._narrow.saved)
        made = make_messages(grouped, starts, header, saved)
        if made is None:
            return False
        self.context.metrics.add(ENCODING, clock() - started)
        self.context.metrics.add(MESSAGES, made.count)
        self.context.metrics.add(BYTES, made.nbytes)
        self._transport.send_grouped(made)
        return True

    def _send_largest(self) -> None:
        """Flush the fullest channels until they buffer at most half of the allowed bytes."""
        held = super().held_bytes()
        allowed = self.settings.buffer_bytes // 2
        if held <= allowed:
            return
        fullest: list[Channel] = sorted(self._channels.values(), key=lambda channel: -channel.nbytes)
        for channel in fullest:
            held -= channel.nbytes
            channel.flush()
            if held <= allowed // 2:
                return
