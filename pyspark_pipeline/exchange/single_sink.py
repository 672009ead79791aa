"""Sinks that do not partition by row values: a fragment's result, and single, broadcast and round-robin exchanges."""

from __future__ import annotations

from pyspark_pipeline.exchange.codec import plain_chunk
from pyspark_pipeline.exchange.sink import ExchangeSinkOperator
from pyspark_pipeline.exec.chunk_slices import slices
from pyspark_pipeline.exec.operator import Chunk


class ResultSinkOperator(ExchangeSinkOperator):
    """Sends every chunk at once and in order, to partition 0; in slices if it exceeds the rows of a message."""

    def accept(self, chunk: Chunk) -> None:
        for piece in slices(plain_chunk(chunk, self.schema), self.settings.batch_rows):
            self.channel(0).send_chunk(piece)

    def held_bytes(self) -> int:
        return 0


class SingleSinkOperator(ExchangeSinkOperator):
    """Sends all rows to partition 0, small chunks batched."""

    def accept(self, chunk: Chunk) -> None:
        plain = plain_chunk(chunk, self.schema)
        self.channel(0).add_rows(plain, self.bytes_of.estimate(plain))


class BroadcastSinkOperator(SingleSinkOperator):
    """Sends all rows to every partition, small chunks batched; a chunk is packed once for all."""

    def destinations_of(self, destination: int) -> tuple[int, ...]:
        return tuple(range(self._destinations))


class RoundRobinSinkOperator(ExchangeSinkOperator):
    """Distributes rows over all partitions in runs of equal length, continuing where the last chunk ended.

    The partition of a row depends on the order of the input, as in Spark's own round robin if rows are not sorted
    first.
    """

    start = 0

    def accept(self, chunk: Chunk) -> None:
        plain = plain_chunk(chunk, self.schema)
        per_row = self.bytes_of.estimate(plain) / plain.num_rows
        for part in slices(plain, -(-plain.num_rows // self._destinations)):
            self.channel(self.start).add_rows(part, int(per_row * part.num_rows))
            self.start = (self.start + 1) % self._destinations
