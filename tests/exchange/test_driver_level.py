"""The second level of the shuffle: the sender names the driver of each message, the receiver delivers it there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.errors import EngineBugError
from pyspark_pipeline.exchange import (
    ChunkRow,
    ExchangeSourceFactory,
    SinkFactory,
    StreamTransport,
    decode_chunk,
    plain_schema,
)
from pyspark_pipeline.exchange.driver_queues import DriverQueues
from pyspark_pipeline.exec import FragmentInstance, OutputQueue, Pipeline, execute
from pyspark_pipeline.exec.input_queue import InputFeed, InputQueue
from pyspark_pipeline.exec.output_sink import OutputSinkFactory
from pyspark_pipeline.kernels.murmur3 import driver_ids, hash_rows, partition_ids
from pyspark_pipeline.operators.limit import LimitFactory
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.nodes import ExchangeSource, HashExchange, Settings
from tests.exec.kit import Made, Source
from tests.operators.kit import Chunks, column, fields

NODE = Chunks(output=fields("k:bigint, v:bigint"))
TYPES = tuple(field.type for field in NODE.output)
SCHEMA = plain_schema(TYPES)
KEY, VALUE = column(NODE, "k"), column(NODE, "v")
ROWS, PARTITIONS, DRIVERS = 30_000, 4, 3


def sent(level: str, *, drivers: int = DRIVERS, partitions: int = PARTITIONS) -> list[ChunkRow]:
    """Return the chunk rows that a hash exchange of 30 000 keys sends."""
    sink = HashExchange(keys=(KEY,), num_partitions=partitions, drivers=drivers)
    options = Options({"exchange.driverLevel": level, "exchange.chunkBytes": "4096"})
    queue = OutputQueue(1_000_000)
    sinks = SinkFactory(sink, TYPES, Settings(ansi=True, time_zone="UTC", options=options), StreamTransport(queue))
    keys = np.arange(ROWS)
    chunk = pa.RecordBatch.from_arrays([pa.array(keys), pa.array(keys * 10)], schema=SCHEMA)
    pipeline = Pipeline(id=0, factories=(Made("source", lambda _: Source([chunk])), sinks))
    return list(execute(FragmentInstance([pipeline], queue), 1))


def keys_of(row: ChunkRow) -> Any:
    return decode_chunk(row.data, SCHEMA).column(0)


@pytest.mark.parametrize("partitions", [1, PARTITIONS])
def test_scrambled_hash_selects_driver_of_row(partitions: int) -> None:
    rows = sent("row", partitions=partitions)
    assert sum(row.rows for row in rows) == ROWS
    counts = np.zeros((partitions, DRIVERS), dtype=int)
    for row in rows:
        hashes = hash_rows([keys_of(row)], row.rows)
        assert set(partition_ids(hashes, partitions)) == {row.partition}
        assert set(driver_ids(hashes, DRIVERS)) == {row.driver}
        counts[row.partition, row.driver] += row.rows
    assert counts.min() > 0.9 * ROWS / counts.size


def test_bound_partition_goes_to_one_driver() -> None:
    rows = sent("partition")
    assert sum(row.rows for row in rows) == ROWS
    assert {(row.partition, row.driver) for row in rows} == {(0, 0), (1, 1), (2, 2), (3, 0)}


def test_sequences_of_partition_span_its_drivers() -> None:
    for level in ("row", "partition"):
        numbers = [row.sequence for row in sent(level) if row.partition == 1]
        assert numbers == list(range(len(numbers)))


def test_sink_names_no_driver_if_there_is_one() -> None:
    assert {row.driver for row in sent("row", drivers=1)} == {-1}


def source(drivers: int = DRIVERS) -> ExchangeSourceFactory:
    node = ExchangeSource(output=NODE.output, input_id=0, partitioning=(KEY,), drivers=drivers)
    return ExchangeSourceFactory(node, InputQueue("input 0"), 1000)


def test_source_uses_driver_queues_only_if_equal_keys_share_a_driver() -> None:
    assert source().use_driver_queues([KEY], DRIVERS)
    assert source().use_driver_queues([VALUE, KEY], DRIVERS)
    assert not source().use_driver_queues([VALUE], DRIVERS)
    assert not source().use_driver_queues([KEY], DRIVERS + 1)
    unpartitioned = ExchangeSourceFactory(ExchangeSource(output=NODE.output, input_id=0), InputQueue("input 0"), 1000)
    assert not unpartitioned.use_driver_queues([KEY], DRIVERS)


@pytest.mark.parametrize("level", ["row", "partition"])
def test_driver_gets_messages_that_name_it(level: str) -> None:
    rows = sent(level)
    made = source()
    assert made.use_driver_queues([KEY], DRIVERS)
    outputs = [OutputQueue(1_000_000) for _ in range(DRIVERS)]
    sinks = Made("sink", lambda driver: OutputSinkFactory(outputs[driver]).create(1, 0))
    pipeline = Pipeline(id=0, factories=(made, sinks), dop=DRIVERS)
    stream = ((0, row) for row in rows)
    list(execute(FragmentInstance([pipeline], OutputQueue(), feed=InputFeed(stream, {0: made.input})), DRIVERS))
    for driver, output in enumerate(outputs):
        got = [key for _ in range(len(output)) for key in output.pop().column(0).to_pylist()]
        named = [key for row in rows if row.driver == driver for key in keys_of(row).to_pylist()]
        assert sorted(got) == sorted(named) and got


def test_finished_driver_does_not_end_other_drivers() -> None:
    rows = sent("row")
    made = source()
    assert made.use_driver_queues([KEY], DRIVERS)
    output = OutputQueue(1_000_000)
    pipeline = Pipeline(id=0, factories=(made, LimitFactory(5000), OutputSinkFactory(output)), dop=DRIVERS)
    stream = ((0, row) for row in rows)
    instance = FragmentInstance([pipeline], output, feed=InputFeed(stream, {0: made.input}))
    assert sum(chunk.num_rows for chunk in execute(instance, DRIVERS)) == 5000


def test_driver_queues_raise_for_message_without_driver() -> None:
    queues = DriverQueues("input 3", 2)
    with pytest.raises(EngineBugError, match="input 3: a message names driver -1 of 2"):
        queues.put(ChunkRow(partition=0, rows=0, data=pa.py_buffer(b"")))
