"""The range exchange: samples, bounds computed from them, and rows partitioned into ordered ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pyspark_pipeline.exchange import ChunkRow, SinkFactory, StreamTransport, decode_chunk, encode_chunk, plain_schema
from pyspark_pipeline.exchange.range_sink import find_bounds
from pyspark_pipeline.exec import FragmentInstance, OutputQueue, Pipeline, execute
from pyspark_pipeline.kernels.range_partition import bound_rows, range_ids
from pyspark_pipeline.kernels.sort_fields import SortColumn
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.nodes import Settings, Sink
from pyspark_pipeline.plan.ranges import RangeExchange, RangeSample, Sample
from pyspark_pipeline.plan.sorts import SortKey
from tests.exec.kit import Made, Source
from tests.operators.kit import Chunks, column, fields

NODE = Chunks(output=fields("k:bigint, s:string"))
TYPES = tuple(field.type for field in NODE.output)
SCHEMA = plain_schema(TYPES)
BY_K = (SortKey(expr=column(NODE, "k")),)
BY_S = (SortKey(expr=column(NODE, "s"), descending=True, nulls_first=False), SortKey(expr=column(NODE, "k")))


def chunks(keys: Sequence[int | None], size: int = 1000) -> list[pa.RecordBatch]:
    numbers = pa.array(keys, pa.int64())
    texts = pa.array([None if key is None or key % 7 == 0 else f"t{key % 50}" for key in keys], pa.string())
    whole = pa.RecordBatch.from_arrays([numbers, texts], schema=SCHEMA)
    return [whole.slice(start, size) for start in range(0, len(keys), size)]


def sent(sink: Sink, given: list[pa.RecordBatch], *, dop: int = 1, instances: int = 1) -> list[ChunkRow]:
    queue = OutputQueue(1_000_000)
    settings = Settings(ansi=True, time_zone="UTC", options=Options({}))
    sinks = SinkFactory(sink, TYPES, settings, StreamTransport(queue), instances=instances)
    source = Made("source", lambda driver: Source(given[driver::dop]))
    return list(execute(FragmentInstance([Pipeline(id=0, factories=(source, sinks), dop=dop)], queue), dop))


def samples_of(keys: tuple[SortKey, ...], given: list[pa.RecordBatch], **run: int) -> tuple[Sample, ...]:
    rows = sent(RangeSample(keys=keys, rows=200), given, **run)
    return tuple(Sample(rows=row.rows, message=row.data.to_pybytes()) for row in rows)


@pytest.mark.parametrize("dop", [1, 3])
def test_sample_has_requested_rows_and_total_row_count(dop: int) -> None:
    given = chunks(list(range(30_000)))
    samples = samples_of(BY_K, given, dop=dop, instances=4)
    assert len(samples) == dop and sum(sample.rows for sample in samples) == 30_000
    schema = plain_schema([key.expr.type for key in BY_K])
    for sample in samples:
        keys = decode_chunk(pa.py_buffer(sample.message), schema).column(0).to_pylist()
        assert len(keys) == 50 == len(set(keys))
        assert 5_000 < np.mean(keys) < 25_000


def test_sample_of_few_rows_is_all_rows_and_of_none_no_message() -> None:
    (sample,) = samples_of(BY_K, chunks([3, None, 1]))
    assert sample.rows == 3
    assert samples_of(BY_K, []) == ()


@pytest.mark.parametrize("keys", [BY_K, BY_S])
@pytest.mark.parametrize("distribution", ["even", "skewed", "equal", "null", "empty", "one"])
def test_concatenated_range_partitions_are_sorted(keys: tuple[SortKey, ...], distribution: str) -> None:
    chance = np.random.default_rng(5)
    values: dict[str, list[Any]] = {
        "even": chance.integers(-(10**12), 10**12, 20_000).tolist(),
        "skewed": [int(v) if i % 5 else None for i, v in enumerate(chance.exponential(30, 20_000))],
        "equal": [4] * 3000,
        "null": [None] * 3000,
        "empty": [],
        "one": [12],
    }
    given = chunks(values[distribution])
    sink = RangeExchange(keys=keys, num_partitions=8, samples=samples_of(keys, given))
    rows = sent(sink, given)
    parts: list[list[Any]] = [[] for _ in range(8)]
    for row in rows:
        parts[row.partition] += decode_chunk(row.data, SCHEMA).to_pylist()
    order = (lambda r: _least(r["k"])) if keys is BY_K else (lambda r: (_greatest(r["c1"]), _least(r["c0"])))
    named = [[{"k": row["c0"], **row} for row in part] for part in parts]
    flat = [order(row) for part in named for row in sorted(part, key=order)]
    assert len(flat) == len(values[distribution]) and flat == sorted(flat)
    if distribution == "even":
        assert min(map(len, parts)) > 1000


def _least(key: int | None) -> tuple[bool, int]:
    return (key is not None, key or 0)


def _greatest(text: str | None) -> tuple[bool, list[int]]:
    return (text is None, [-byte for byte in (text or "").encode()] + [1])


def test_sample_rows_are_weighted_by_instance_size() -> None:
    schema = plain_schema([BY_K[0].expr.type])

    def sample(rows: int, first: int) -> Sample:
        keys = pa.RecordBatch.from_arrays([pa.array(range(first, first + 10), pa.int64())], schema=schema)
        return Sample(rows=rows, message=encode_chunk(keys).to_pybytes())

    (bounds,) = find_bounds(BY_K, [sample(90_000, 0), sample(10_000, 100)], 10)
    assert bounds.to_pylist() == list(range(1, 10))


def test_equal_keys_share_one_range() -> None:
    values = pa.array([1, 1, 1, 2, 2, 3, None], pa.int64())
    column_ = SortColumn(values, descending=False, nulls_first=True)
    bounds = values.take(pa.array(bound_rows([column_], np.ones(7), 100)))
    assert bounds.to_pylist() == [None, 1, 2, 3]
    assert range_ids([column_], [bounds], 7).tolist() == [1, 1, 1, 2, 2, 3, 0]
