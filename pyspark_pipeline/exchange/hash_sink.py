"""The hash exchange sink: a row's place is Spark's Murmur3 of its keys, and the same hash scrambled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyspark_pipeline.exchange.partitioning_sink import PartitioningSinkOperator
from pyspark_pipeline.exchange.sink import Outlet
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.expressions import CompiledExpressions
from pyspark_pipeline.kernels.buffers import Array
from pyspark_pipeline.kernels.murmur3 import driver_ids, hash_rows, partition_ids


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


class HashSinkOperator(PartitioningSinkOperator):
    """Row r goes to partition ``pmod(murmur3(keys), destinations)``, and to a driver there."""

    def __init__(self, outlet: Outlet, keys: CompiledExpressions, level: DriverLevel) -> None:
        super().__init__(outlet, outlet.destinations * level.per_partition)
        self._keys = keys
        self._level = level

    def ways_of(self, chunk: Chunk) -> Array:
        hashes = hash_rows(self._keys.evaluate(chunk), chunk.num_rows)
        return self._level.channel_ids(hashes, self._destinations)

    def address(self, way: int) -> tuple[int, int]:
        return self._level.address(way)
