"""The hash exchange sink: Spark's Murmur3 of the keys gives a row's partition, the same hash scrambled its driver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyspark_pipeline.exchange.partitioning_sink import PartitioningSinkOperator
from pyspark_pipeline.exchange.sink import SinkContext
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.expressions import CompiledExpressions
from pyspark_pipeline.kernels.arrays import Int32Array, UInt32Array
from pyspark_pipeline.kernels.murmur3 import driver_ids, hash_rows, partition_ids


@dataclass(frozen=True, slots=True)
class DriverLevel:
    """The second level of the shuffle: assigns rows to the receiver's ``drivers`` (1: any driver, none is named).

    The hash of the partition is scrambled before it selects the driver: the rows of a partition have the same hash
    modulo the number of partitions. If the level ``is_bound``, a whole partition belongs to one driver.
    """

    drivers: int = 1
    is_bound: bool = False

    @property
    def per_partition(self) -> int:
        """The number of channels to one partition."""
        return 1 if self.is_bound else self.drivers

    def channel_ids(self, hashes: UInt32Array, partitions: int) -> Int32Array:
        """Return the channel of each row: its partition × ``per_partition`` + its driver; int32, shape (rows,)."""
        ids = partition_ids(hashes, partitions)
        if self.per_partition > 1:
            ids *= np.int32(self.drivers)
            ids += driver_ids(hashes, self.drivers)
        return ids

    def destination(self, channel_id: int) -> tuple[int, int]:
        """Return the partition and the driver of a channel."""
        if self.drivers == 1:
            return channel_id, -1
        if self.is_bound:
            return channel_id, channel_id % self.drivers
        return divmod(channel_id, self.drivers)


class HashSinkOperator(PartitioningSinkOperator):
    """Row r goes to partition ``pmod(murmur3(keys), destinations)``, and to a driver there."""

    def __init__(self, sink_context: SinkContext, keys: CompiledExpressions, level: DriverLevel) -> None:
        super().__init__(sink_context, sink_context.destinations * level.per_partition)
        self._keys = keys
        self._level = level

    def channel_ids(self, chunk: Chunk) -> Int32Array:
        hashes = hash_rows(self._keys.evaluate(chunk), chunk.num_rows)
        return self._level.channel_ids(hashes, self._destinations)

    def destination(self, channel_id: int) -> tuple[int, int]:
        return self._level.destination(channel_id)
