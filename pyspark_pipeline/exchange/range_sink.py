"""The range exchange: a sample of the sort keys decides the bounds, then rows go to partitions by them.

As in Spark, the rows are made twice: for the sample, and to be sent. A row of an instance's sample stands for as many
rows as the instance had for one taken. Every sink finds the bounds from all samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from pyspark_pipeline.exchange.codec import decode_chunk, plain_chunk, plain_schema
from pyspark_pipeline.exchange.partitioning_sink import PartitioningSinkOperator
from pyspark_pipeline.exchange.sink import ExchangeSinkOperator, Outlet
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.expressions.row_order import RowOrder
from pyspark_pipeline.kernels.buffers import Array, fixed_array
from pyspark_pipeline.kernels.range_partition import bound_rows, range_ids
from pyspark_pipeline.kernels.sort_fields import SortColumn
from pyspark_pipeline.plan.ranges import Sample
from pyspark_pipeline.plan.sorts import SortKey


def key_schema(keys: Sequence[SortKey]) -> pa.Schema:
    """Give the schema of the chunks that samples are."""
    return plain_schema([key.expr.type for key in keys])


def find_bounds(keys: Sequence[SortKey], samples: Sequence[Sample], ranges: int) -> list[pa.Array]:
    """Give the key columns of the bounds between at most ``ranges`` ranges, in order; no rows without samples."""
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
    """Row r goes to the partition of the range that its keys are in."""

    def __init__(self, outlet: Outlet, order: RowOrder, bounds: Sequence[pa.Array]) -> None:
        super().__init__(outlet, outlet.destinations)
        self._order = order
        self._bounds = bounds

    def ways_of(self, chunk: Chunk) -> Array:
        if not len(self._bounds[0]):
            return np.zeros(chunk.num_rows, dtype=np.int32)
        return range_ids(self._order.columns(chunk), self._bounds, chunk.num_rows)

    def address(self, way: int) -> tuple[int, int]:
        return way, -1


class RangeSampleOperator(ExchangeSinkOperator):
    """Keeps the keys of at most ``most`` rows, each row as likely as any other; sends them as one message.

    Every row draws a number, and the rows of the least numbers are kept. The draws of an instance are the same when
    it runs again.
    """

    def __init__(self, outlet: Outlet, order: RowOrder, most: int, seed: int) -> None:
        super().__init__(replace(outlet, types=tuple(key.expr.type for key in order.keys), destinations=1))
        self._order = order
        self._most = most
        self._chance = np.random.default_rng(seed)
        self._seen = 0
        self._draws = np.empty(0)
        self._kept = pa.RecordBatch.from_pylist([], schema=self.schema)

    def accept(self, chunk: Chunk) -> None:
        self._seen += chunk.num_rows
        draws = self._chance.random(chunk.num_rows)
        if self._draws.size >= self._most:
            near = np.flatnonzero(draws < self._draws.max())
            draws = draws[near]
            chunk = chunk.take(fixed_array(pa.int64(), near))
        if not chunk.num_rows:
            return
        columns = [column.values for column in self._order.columns(chunk)]
        keys = plain_chunk(pa.RecordBatch.from_arrays(columns, schema=_named(columns)), self.schema)
        self._keep(np.concatenate([self._draws, draws]), pa.concat_batches([self._kept, keys]))

    def _keep(self, draws: Array, keys: pa.RecordBatch) -> None:
        if draws.size > self._most:
            least = np.argpartition(draws, self._most - 1)[: self._most]
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
