"""The range exchange: bounds are computed from a sample of the sort keys, then rows are partitioned by range.

As in Spark, the rows are computed twice: for the sample, and to be sent. The weight of a sampled row is the number of
rows of its instance per sampled row. Every sink computes the bounds from all samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from pyspark_pipeline.exchange.codec import decode_chunk, plain_chunk, plain_schema
from pyspark_pipeline.exchange.partitioning_sink import PartitioningSinkOperator
from pyspark_pipeline.exchange.sink import ExchangeSinkOperator, SinkContext
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.expressions.row_order import RowOrder
from pyspark_pipeline.kernels.arrays import Float64Array, Int32Array
from pyspark_pipeline.kernels.buffers import fixed_array
from pyspark_pipeline.kernels.range_partition import bound_rows, range_ids
from pyspark_pipeline.kernels.sort_fields import SortColumn
from pyspark_pipeline.plan.ranges import Sample
from pyspark_pipeline.plan.sorts import SortKey


def key_schema(keys: Sequence[SortKey]) -> pa.Schema:
    """Return the schema of the chunks of samples."""
    return plain_schema([key.expr.type for key in keys])


def find_bounds(keys: Sequence[SortKey], samples: Sequence[Sample], ranges: int) -> list[pa.Array]:
    """Return the key columns of the bounds between at most ``ranges`` ranges, in order; no rows without samples."""
    schema = key_schema(keys)
    chunks = [decode_chunk(pa.py_buffer(sample.message), schema) for sample in samples]
    whole = pa.concat_batches(chunks) if chunks else pa.RecordBatch.from_pylist([], schema=schema)
    columns: list[pa.Array] = whole.columns
    if not whole.num_rows:
        return columns
    weights = [np.full(c.num_rows, s.rows / c.num_rows) for s, c in zip(samples, chunks, strict=True) if c.num_rows]
    sorted_by = [SortColumn(v, k.descending, k.nulls_first) for v, k in zip(columns, keys, strict=True)]
    rows = fixed_array(pa.int64(), bound_rows(sorted_by, np.concatenate(weights), ranges))
    return [column.take(rows) for column in columns]


class RangeSinkOperator(PartitioningSinkOperator):
    """Sends row r to the partition of the range that contains its keys."""

    def __init__(self, sink_context: SinkContext, order: RowOrder, bounds: Sequence[pa.Array]) -> None:
        super().__init__(sink_context, sink_context.destinations)
        self._order = order
        self._bounds = bounds

    def channel_ids(self, chunk: Chunk) -> Int32Array:
        if not len(self._bounds[0]):
            return np.zeros(chunk.num_rows, dtype=np.int32)
        return range_ids(self._order.columns(chunk), self._bounds, chunk.num_rows)

    def destination(self, channel_id: int) -> tuple[int, int]:
        return channel_id, -1


class RangeSampleOperator(ExchangeSinkOperator):
    """Sends, as one message, the keys of a uniform random sample of at most ``max_rows`` rows.

    Every row draws a random number, and the rows with the smallest numbers are kept. An instance that runs again draws
    the same numbers.
    """

    def __init__(self, sink_context: SinkContext, order: RowOrder, max_rows: int, seed: int) -> None:
        super().__init__(replace(sink_context, types=tuple(key.expr.type for key in order.keys), destinations=1))
        self._order = order
        self._max_rows = max_rows
        self._random = np.random.default_rng(seed)
        self._seen = 0
        self._draws = np.empty(0)
        self._kept = pa.RecordBatch.from_pylist([], schema=self.schema)

    def accept(self, chunk: Chunk) -> None:
        self._seen += chunk.num_rows
        draws = self._random.random(chunk.num_rows)
        if self._draws.size >= self._max_rows:
            near = np.flatnonzero(draws < self._draws.max())
            draws = draws[near]
            chunk = chunk.take(fixed_array(pa.int64(), near))
        if not chunk.num_rows:
            return
        columns = [column.values for column in self._order.columns(chunk)]
        keys = plain_chunk(pa.RecordBatch.from_arrays(columns, schema=_named(columns)), self.schema)
        self._keep(np.concatenate([self._draws, draws]), pa.concat_batches([self._kept, keys]))

    def _keep(self, draws: Float64Array, keys: pa.RecordBatch) -> None:
        if draws.size > self._max_rows:
            least = np.argpartition(draws, self._max_rows - 1)[: self._max_rows]
            draws, keys = draws[least], keys.take(fixed_array(pa.int64(), least))
        self._draws, self._kept = draws, keys

    def flush(self) -> None:
        if self._finishing and self._seen:
            self._transport.send(0, -1, self._seen, self._transport.pack(self._kept))
            self._seen = 0

    def held_bytes(self) -> int:
        return int(self._kept.nbytes)


def _named(columns: Sequence[pa.Array]) -> pa.Schema:
    return pa.schema([(f"c{i}", column.type) for i, column in enumerate(columns)])
