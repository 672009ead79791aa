"""The cases of an exchange of (bigint, decimal(15,2), date) by a hash of the first into 200 partitions; both sides."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.micro.measure import Case, cut, micro
from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.exchange import (
    ChunkRow,
    MapFile,
    MapOutput,
    SinkFactory,
    StreamTransport,
    pack_rows,
    plain_schema,
)
from pyspark_pipeline.exchange.block_stream_reader import read_blocks
from pyspark_pipeline.exchange.chunk_row import BLOCKS
from pyspark_pipeline.exchange.codec import unpack_payload
from pyspark_pipeline.exchange.narrow_form import widen
from pyspark_pipeline.exec import FragmentInstance, Operator, OperatorFactory, OutputQueue, Pipeline, execute
from pyspark_pipeline.memory import MemoryTracker
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.expr import ColumnRef
from pyspark_pipeline.plan.nodes import HashExchange, Settings

_TYPES = tuple(map(parse_type, ("bigint", "decimal(15,2)", "date")))
_PARTITIONS = 200
_SETTINGS = Settings(ansi=True, time_zone="UTC", options=Options({}))
_SINK = HashExchange(keys=(ColumnRef(type=_TYPES[0], ordinal=0),), num_partitions=_PARTITIONS)


class _Chunks(OperatorFactory, Operator):
    """A source of prepared chunks."""

    name = "Chunks"

    def __init__(self, chunks: Sequence[pa.RecordBatch]) -> None:
        self._left = list(chunks)

    def create(self, dop: int, driver_sequence: int) -> Operator:
        return self

    def has_output(self) -> bool:
        return bool(self._left)

    def pull_chunk(self) -> pa.RecordBatch | None:
        return self._left.pop()

    def is_finished(self) -> bool:
        return not self._left


def _chunks(rows: int) -> list[pa.RecordBatch]:
    random = np.random.default_rng(42)
    words = np.zeros((rows, 2), dtype=np.int64)
    words[:, 0] = random.integers(90_000, 10_500_000, rows)
    decimals = pa.Array.from_buffers(_TYPES[1].arrow, rows, [None, pa.py_buffer(words)])
    dates = pa.array(random.integers(8_000, 10_600, rows).astype(np.int32)).cast(pa.date32())
    columns = cut(pa.array(random.integers(0, 60_000_000, rows)), decimals, dates)
    return [pa.RecordBatch.from_arrays(chunk, schema=plain_schema(_TYPES)) for chunk in columns]


def _sent(chunks: Sequence[pa.RecordBatch], *, narrows: bool) -> Iterator[ChunkRow]:
    queue = OutputQueue(16)
    sinks = SinkFactory(_SINK, _TYPES, _SETTINGS, StreamTransport(queue, narrows=narrows, writes_file=narrows))
    instance = FragmentInstance([Pipeline(id=0, factories=(_Chunks(chunks), sinks))], queue)
    yield from execute(instance)


def _write(chunks: Sequence[pa.RecordBatch], path: Path) -> list[int]:
    file = MapFile(path=str(path), partitions=_PARTITIONS, codec="lz4", checksum="ADLER32")
    output = MapOutput(file, MemoryTracker("task"), 64 << 20)
    for row in _sent(chunks, narrows=True):
        output.add(row)
    lengths: list[int] = output.finish()["lengths"]
    output.close()
    return lengths


def _blocks(path: Path, lengths: Sequence[int]) -> Iterator[ChunkRow]:
    """Yield a row for each partition that names its block."""
    for partition, length in enumerate(lengths):
        block = {"path": str(path), "offset": sum(lengths[:partition]), "length": length}
        blocks = [block | {"map": 0, "mapIndex": 0, "reduce": partition}]
        message = json.dumps({"shuffle": 0, "codec": "lz4", "blocks": blocks}).encode()
        yield ChunkRow(partition=0, rows=0, data=pa.py_buffer(message), driver=BLOCKS)


@micro("exchange: partition and send messages to the JVM")
def send(rows: int) -> tuple[Case, int]:
    chunks = _chunks(rows)

    def run() -> None:
        for row in _sent(chunks, narrows=False):
            pack_rows([row])

    return run, rows


@micro("exchange: partition and write the map file")
def write(rows: int) -> tuple[Case, int]:
    chunks = _chunks(rows)

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            _write(chunks, Path(folder) / "data")

    return run, rows


@micro("exchange: read blocks of a map file")
def read(rows: int) -> tuple[Case, int]:
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "data"
    lengths = _write(_chunks(rows), path)
    plain = plain_schema(_TYPES)

    def run() -> None:
        assert folder.name
        for row in _blocks(path, lengths):
            found = [unpack_payload(block.data, plain)[0] for block in read_blocks(row)]
            widen(pa.concat_batches(found), plain)

    return run, rows
