"""Sinks that keep chunks whole: a fragment's result, an exchange to one partition or all, dealing rows out evenly."""

from __future__ import annotations

from pyspark_pipeline.exchange.codec import plain_chunk
from pyspark_pipeline.exchange.sink import ExchangeSinkOperator
from pyspark_pipeline.exec.chunk_slices import slices
from pyspark_pipeline.exec.operator import Chunk


class ResultSinkOperator(ExchangeSinkOperator):
    """Sends every chunk at once and in order, as partition 0; what has more rows than a message may, in slices."""

    def accept(self, chunk: Chunk) -> None:
        for piece in slices(plain_chunk(chunk, self.schema), self.settings.batch_rows):
            self.channel(0).send_chunk(piece)

    def held_bytes(self) -> int:
        return 0


class SingleSinkOperator(ExchangeSinkOperator):
    """Sends everything to partition 0, small chunks batched."""

    def accept(self, chunk: Chunk) -> None:
        plain = plain_chunk(chunk, self.schema)
        self.channel(0).add_rows(plain, self.bytes_of.estimate(plain))


class BroadcastSinkOperator(SingleSinkOperator):
    """Sends everything to every partition, small chunks batched; a chunk is packed once for all."""

    def addresses(self, destination: int) -> tuple[int, ...]:
        return tuple(range(self._destinations))


class RoundRobinSinkOperator(ExchangeSinkOperator):
    """Deals rows out over all partitions in runs of equal length, going on where the last deal ended.

    Which row goes where depends on the order of the input, as it does for Spark's own round robin where
    rows are not sorted first.
    """

    start = 0

    def accept(self, chunk: Chunk) -> None:
        plain = plain_chunk(chunk, self.schema)
        per_row = self.bytes_of.estimate(plain) / plain.num_rows
        for part in slices(plain, -(-plain.num_rows // self._destinations)):
            self.channel(self.start).add_rows(part, int(per_row * part.num_rows))
            self.start = (self.start + 1) % self._destinations
