"""Sinks that keep chunks whole: a fragment's result, an exchange to one partition or all, dealing rows out evenly."""

from __future__ import annotations

import pyarrow as pa

from pyspark_pipeline.exchange.codec import plain_chunk
from pyspark_pipeline.exchange.sink import ExchangeSinkOperator
from pyspark_pipeline.exec.operator import Chunk


class ResultSinkOperator(ExchangeSinkOperator):
    """Sends every chunk at once and in order, as partition 0; what has more rows than a message may, in slices."""

    def accept(self, chunk: Chunk) -> None:
        plain = plain_chunk(chunk, self.schema)
        for start in range(0, plain.num_rows, self.settings.batch_rows):
            self.channel(0).send_chunk(plain.slice(start, self.settings.batch_rows))

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
        for part in self._runs(plain):
            self.channel(self.start).add_rows(part, int(per_row * part.num_rows))
            self.start = (self.start + 1) % self._destinations

    def _runs(self, plain: pa.RecordBatch) -> list[pa.RecordBatch]:
        length = -(-plain.num_rows // self._destinations)
        return [plain.slice(at, length) for at in range(0, plain.num_rows, length)]
