"""The hash exchange sink: rows are staged, then partitioned together by one prefix sum and one ``take``.

Partitioning chunk by chunk would cost a slice per destination and chunk. So chunks are staged until there is
about one message's worth for every destination, then: Murmur3 of the keys, ``pmod``, prefix-sum grouping,
one ``take`` of all columns, zero-copy slices to the channels (one a partition, or a driver there). A channel
sends when it has enough; what all channels hold together is capped by sending the largest first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.exchange.channel import Channel, Sequencer
from pyspark_pipeline.exchange.codec import plain_chunk
from pyspark_pipeline.exchange.sink import ExchangeSinkOperator, SinkSettings
from pyspark_pipeline.exec.chunk_concat import concat_chunks
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.exec.output_queue import OutputQueue
from pyspark_pipeline.expressions import CompiledExpressions
from pyspark_pipeline.kernels.buffers import Array, fixed_array
from pyspark_pipeline.kernels.murmur3 import driver_ids, hash_rows, partition_ids
from pyspark_pipeline.kernels.partition import group_rows

_LEAST_STAGE_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class DriverLevel:
    """The second level of the shuffle: which of the receiver's ``drivers`` a row is for (1: any, none is named).

    The hash that gave the partition is scrambled before it gives the driver: the rows of a partition agree in it
    modulo the partitions. Where the level ``is_bound``, a partition belongs to one driver whole.
    """

    drivers: int = 1
    is_bound: bool = False

    @property
    def per_partition(self) -> int:
        """The number of channels to one partition."""
        return 1 if self.is_bound else self.drivers

    def channel_ids(self, hashes: Array, partitions: int) -> Array:
        """Number each row's channel: its partition × ``per_partition`` + its driver; int32, shape (rows,)."""
        ids = partition_ids(hashes, partitions)
        if self.per_partition > 1:
            ids *= np.int32(self.drivers)
            ids += driver_ids(hashes, self.drivers)
        return ids

    def address(self, channel: int) -> tuple[int, int]:
        """Give the partition and the driver of a channel."""
        if self.drivers == 1:
            return channel, -1
        if self.is_bound:
            return channel, channel % self.drivers
        return divmod(channel, self.drivers)


class HashSinkOperator(ExchangeSinkOperator):
    """Row r goes to partition ``pmod(murmur3(keys), destinations)``, and to a driver there."""

    def __init__(
        self,
        types: tuple[DataType, ...],
        destinations: int,
        queue: OutputQueue,
        sequencer: Sequencer,
        settings: SinkSettings,
        keys: CompiledExpressions,
        level: DriverLevel | None = None,
    ) -> None:
        super().__init__(types, destinations, queue, sequencer, settings)
        self._keys = keys
        self._level = level or DriverLevel()
        self._ways = destinations * self._level.per_partition
        self._staged: list[Chunk] = []
        self._staged_bytes = 0
        one_message_each = self._ways * settings.chunk_bytes
        self._stage_bytes = min(max(one_message_each, _LEAST_STAGE_BYTES), settings.buffer_bytes // 2)

    def accept(self, chunk: Chunk) -> None:
        self._staged.append(chunk)
        self._staged_bytes += self.bytes_of.estimate(chunk)
        if self._staged_bytes >= self._stage_bytes:
            self._partition()

    def flush(self) -> None:
        self._partition()
        super().flush()

    def held_bytes(self) -> int:
        return self._staged_bytes + super().held_bytes()

    def set_finished(self) -> None:
        super().set_finished()
        self._staged = []
        self._staged_bytes = 0

    def _partition(self) -> None:
        """Deal what is staged out to the channels."""
        if not self._staged:
            return
        staged = concat_chunks(self._staged)
        self._staged = []
        self._staged_bytes = 0
        hashes = hash_rows(self._keys.evaluate(staged), staged.num_rows)
        starts, order = group_rows(self._level.channel_ids(hashes, self._destinations), self._ways)
        grouped = plain_chunk(pc.take(staged, fixed_array(pa.int32(), order), boundscheck=False), self.schema)
        bounds = starts.tolist()
        per_row = grouped.nbytes / grouped.num_rows
        for way in range(self._ways):
            rows = bounds[way + 1] - bounds[way]
            if rows:
                part = grouped.slice(bounds[way], rows)
                self.channel(*self._level.address(way)).add_rows(part, int(per_row * rows))
        self._send_largest()

    def _send_largest(self) -> None:
        """Send the fullest channels until at most half of the allowed bytes is held."""
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

