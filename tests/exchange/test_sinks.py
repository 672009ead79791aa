"""Exchange sinks: every row arrives once, at the partition Spark computes, in messages of a good size."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.exchange import ChunkRow
from pyspark_pipeline.kernels.murmur3 import hash_rows
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.expr import ColumnRef
from pyspark_pipeline.plan.nodes import (
    ExchangeSource,
    HashExchange,
    ResultSink,
    RoundRobinExchange,
    Settings,
    SingleExchange,
    Sink,
)
from tests.operators.aggregate_kit import chunks_of, leaf
from tests.operators.kit import Builder, Chunks, column, run, run_rows, to_table

ROWS = 5000


def table(rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(3)
    keys = pa.array(rng.integers(0, 300, rows), pa.int64(), mask=rng.random(rows) < 0.1)
    names = pa.array([f"name {i % 50}" if i % 7 else None for i in range(rows)], pa.string())
    return pa.table({"k": keys, "s": names, "i": pa.array(range(rows), pa.int32())})


def child(chunk_rows: int = 700, rows: int = ROWS) -> Chunks:
    return leaf("k:bigint, s:string, i:int", chunks_of(table(rows), chunk_rows) if rows else [])


def settings(**options: Any) -> Settings:
    texts = {key.replace("_", "."): str(value) for key, value in options.items()}
    return Settings(ansi=True, time_zone="UTC", options=Options(texts))


def send(sink: Sink, node: Chunks | None = None, dop: int = 1, **options: Any) -> list[ChunkRow]:
    return run_rows(node or child(), sink=sink, builder=Builder(settings(**options), dop=dop))


def contents(rows: list[ChunkRow]) -> Counter[Any]:
    made = to_table(child(), rows)
    return Counter(zip(*(made.column(i).to_pylist() for i in range(3)), strict=True))


def expected(rows: int = ROWS) -> Counter[Any]:
    made = table(rows)
    return Counter(zip(*(made.column(i).to_pylist() for i in range(3)), strict=True))


@pytest.mark.parametrize("partitions", [1, 2, 7, 200, 9000])
@pytest.mark.parametrize("keys", ["k", "s", "sk"])
def test_hash_exchange_partitions_rows_like_spark(partitions: int, keys: str) -> None:
    node = child()
    exprs: tuple[ColumnRef, ...] = tuple(column(node, name) for name in keys)
    rows = send(HashExchange(keys=exprs, num_partitions=partitions))
    assert contents(rows) == expected()
    for row in rows[:: max(1, len(rows) // 50)]:
        made = to_table(node, [row])
        hashes = hash_rows([made.column(name).combine_chunks() for name in keys], made.num_rows)
        places = hashes.view(np.int32).astype(np.int64) % partitions
        assert set(places.tolist()) == {row.partition}
        assert made.num_rows == row.rows


@pytest.mark.parametrize("sink", [ResultSink(), SingleExchange(), RoundRobinExchange(num_partitions=7)])
def test_other_sinks_send_every_row(sink: Sink) -> None:
    assert contents(send(sink)) == expected()


def test_result_sink_keeps_row_order() -> None:
    made = to_table(child(), send(ResultSink()))
    assert made.column("i").to_pylist() == list(range(ROWS))


def test_round_robin_distributes_rows_evenly() -> None:
    counts: Counter[int] = Counter()
    for row in send(RoundRobinExchange(num_partitions=7)):
        counts[row.partition] += row.rows
    assert max(counts.values()) - min(counts.values()) <= 8


@pytest.mark.parametrize("dop", [1, 3])
def test_sequences_increase_per_destination(dop: int) -> None:
    node = child(100)
    sink = HashExchange(keys=(column(node, "k"),), num_partitions=5)
    rows = send(sink, node, dop, exchange_chunkBytes=2000, exchange_bufferBytes=20_000)
    for partition in range(5):
        sequence = [row.sequence for row in rows if row.partition == partition]
        assert sequence == list(range(len(sequence))) and len(sequence) > 1
    assert contents(rows) == expected()


def test_messages_are_near_requested_size() -> None:
    node = child(100, 60_000)
    sink = HashExchange(keys=(column(node, "k"),), num_partitions=4)
    rows = send(sink, node, exchange_chunkBytes=50_000)
    sizes = [row.data.size for row in rows]
    assert len(rows) < 60 and sorted(sizes)[len(sizes) // 2] > 40_000


def test_buffered_bytes_are_capped() -> None:
    node = child(500, 60_000)
    sink = HashExchange(keys=(column(node, "i"),), num_partitions=200)
    rows = send(sink, node, exchange_bufferBytes=100_000)
    assert contents(rows) == expected(60_000)
    assert len(rows) > 400


@pytest.mark.parametrize("rows", [0, 1, 64, 65])
def test_sinks_handle_small_inputs(rows: int) -> None:
    node = child(64, rows)
    for sink in (HashExchange(keys=(column(node, "k"),), num_partitions=3), SingleExchange(), ResultSink()):
        sent = send(sink, node, batchRows=64)
        assert sum(row.rows for row in sent) == rows
        assert all(0 < row.rows <= 64 for row in sent)


def test_messages_have_at_most_batch_rows() -> None:
    node = child(4000)
    assert max(row.rows for row in send(SingleExchange(), node, batchRows=300)) <= 300


def test_source_concatenates_small_messages() -> None:
    rows = send(HashExchange(keys=(column(child(), "k"),), num_partitions=3), exchange_bufferBytes=2000)
    node = ExchangeSource(output=child().output, input_id=0)
    received = run_rows(node, builder=Builder(), inputs=[(0, row) for row in rows])
    assert len(rows) > 20 and len(received) == 1
    assert contents(received) == expected()
    assert run(node, builder=Builder()).num_rows == 0
