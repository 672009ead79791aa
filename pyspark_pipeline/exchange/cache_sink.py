"""The sink of a fragment whose result Spark caches: chunks of full size in order, their dictionaries kept."""

from __future__ import annotations

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exchange.sink import ExchangeSinkOperator, SinkContext
from pyspark_pipeline.exec.chunk_accumulate import ChunkAccumulator
from pyspark_pipeline.exec.operator import Chunk


class CacheSinkOperator(ExchangeSinkOperator):
    """Sends chunks to partition 0; small ones are concatenated, because a batch of the cache has a fixed cost."""

    def __init__(self, sink_context: SinkContext) -> None:
        super().__init__(sink_context)
        self._chunks = ChunkAccumulator(self.settings.batch_rows)

    def accept(self, chunk: Chunk) -> None:
        self._check(chunk)
        self._chunks.add(chunk)
        self._send()

    def _check(self, chunk: Chunk) -> None:
        """Raise :class:`EngineBugError` if a column does not have its declared type or a dictionary of it."""
        for field, column in zip(self.schema, chunk.columns, strict=True):
            if getattr(column.type, "value_type", column.type) != field.type:
                raise EngineBugError(f"column {field.name} is {column.type} in a cached chunk, declared {field.type}")

    def _send(self) -> None:
        while self._chunks.has_chunk():
            self.channel(0).send_chunk(self._chunks.take())

    def flush(self) -> None:
        self._chunks.flush()
        self._send()

    def held_bytes(self) -> int:
        return self._chunks.held_bytes

    def drop(self) -> None:
        self._chunks.clear()
