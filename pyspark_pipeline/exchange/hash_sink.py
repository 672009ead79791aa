"""The hash exchange sink: rows are staged, then partitioned together by one prefix sum and one ``take``.

Partitioning chunk by chunk would cost a slice per destination and chunk. So chunks are staged until there is
about one message's worth for every destination, then: Murmur3 of the keys, ``pmod``, prefix-sum grouping,
one ``take`` of all columns, zero-copy slices to the channels. A channel sends when it has enough; what all
channels hold together is capped by sending the largest first.
"""

from __future__ import annotations

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
from pyspark_pipeline.kernels.buffers import fixed_array
from pyspark_pipeline.kernels.murmur3 import hash_rows, partition_ids
from pyspark_pipeline.kernels.partition import group_rows

_LEAST_STAGE_BYTES = 4 << 20


class HashSinkOperator(ExchangeSinkOperator):
    """Row r goes to partition ``pmod(murmur3(keys), destinations)``."""

    def __init__(
        self,
        types: tuple[DataType, ...],
        destinations: int,
        queue: OutputQueue,
        sequencer: Sequencer,
        settings: SinkSettings,
        keys: CompiledExpressions,
    ) -> None:
        super().__init__(types, destinations, queue, sequencer, settings)
        self._keys = keys
        self._staged: list[Chunk] = []
        self._staged_bytes = 0
        one_message_each = destinations * settings.chunk_bytes
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
        starts, order = group_rows(partition_ids(hashes, self._destinations), self._destinations)
        grouped = plain_chunk(pc.take(staged, fixed_array(pa.int32(), order), boundscheck=False), self.schema)
        bounds = starts.tolist()
        per_row = grouped.nbytes / grouped.num_rows
        for destination in range(self._destinations):
            rows = bounds[destination + 1] - bounds[destination]
            if rows:
                part = grouped.slice(bounds[destination], rows)
                self.channel(destination).add_rows(part, int(per_row * rows))
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

