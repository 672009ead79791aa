"""Sort cases: the order of one and several keys, whole sorts in memory and spilled, TopN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.micro.measure import BATCH_ROWS, Case, micro
from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.exec import FragmentInstance, Operator, OperatorFactory, OutputQueue, Pipeline, execute
from pyspark_pipeline.kernels.sort_fields import SortColumn
from pyspark_pipeline.kernels.sort_order import order_rows
from pyspark_pipeline.memory import MemoryTracker
from pyspark_pipeline.operators.sorting.sort import SortContext, SortSinkFactory, SortSourceFactory
from pyspark_pipeline.operators.sorting.top_n import TopNFactory
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.expr import ColumnRef
from pyspark_pipeline.plan.nodes import Field, Node, Settings
from pyspark_pipeline.plan.sorts import Sort, SortKey, TopN

_RANDOM = np.random.default_rng(42)
_SETTINGS = Settings(ansi=True, time_zone="UTC", options=Options({}))
_KINDS = ("bigint", "double", "string")


def _columns(rows: int) -> list[pa.Array]:
    numbers = _RANDOM.integers(0, rows, rows)
    return [
        pa.array(numbers),
        pa.array(_RANDOM.random(rows)),
        pa.array([f"Customer#{i:09d}" for i in numbers.tolist()]),
    ]


def _order(*columns: pa.Array) -> tuple[Case, int]:
    keys = [SortColumn(column, bool(i % 2), True) for i, column in enumerate(columns)]
    return (lambda: order_rows(keys, len(columns[0]))), len(columns[0])


@micro("order of a bigint")
def order_long(rows: int) -> tuple[Case, int]:
    return _order(pa.array(_RANDOM.integers(0, 1 << 62, rows // 4)))


@micro("order of an 18-byte string")
def order_string(rows: int) -> tuple[Case, int]:
    return _order(_columns(rows // 4)[2])


@micro("order of a small int, a double and a string")
def order_three(rows: int) -> tuple[Case, int]:
    _, doubles, texts = _columns(rows // 4)
    return _order(pa.array(_RANDOM.integers(0, 5, rows // 4), pa.int32()), doubles, texts)


class _ChunkSource(Operator):
    """A source of prepared chunks."""

    def __init__(self, chunks: list[pa.RecordBatch]) -> None:
        self._left = list(chunks)

    def has_output(self) -> bool:
        return bool(self._left)

    def pull_chunk(self) -> pa.RecordBatch:
        return self._left.pop(0)

    def is_finished(self) -> bool:
        return not self._left


class _DiscardSink(Operator):
    """A sink that discards chunks."""

    def __init__(self) -> None:
        self._ended = False

    def need_input(self) -> bool:
        return not self._ended

    def push_chunk(self, chunk: pa.RecordBatch) -> None:
        pass

    def set_finishing(self) -> None:
        self._ended = True

    def is_finished(self) -> bool:
        return self._ended


class _Factory(OperatorFactory):
    def __init__(self, make: Any) -> None:
        self._make = make

    def create(self, dop: int, driver_sequence: int) -> Operator:
        made: Operator = self._make()
        return made


def _run(pipelines: list[list[OperatorFactory]], limit: int | None) -> None:
    numbered = [Pipeline(id=i, factories=tuple(factories)) for i, factories in enumerate(pipelines)]
    memory = MemoryTracker("instance", limit=limit)
    for _ in execute(FragmentInstance(numbered, OutputQueue(4), memory=memory)):
        pass


def _input(rows: int) -> tuple[list[pa.RecordBatch], Node, SortKey]:
    batch = pa.record_batch(_columns(rows), names=["c0", "c1", "c2"])
    chunks = [batch.slice(start, BATCH_ROWS) for start in range(0, rows, BATCH_ROWS)]
    output = tuple(Field(id=i, name=f"c{i}", type=parse_type(kind)) for i, kind in enumerate(_KINDS))
    return chunks, Node(output=output), SortKey(expr=ColumnRef(type=parse_type("bigint"), ordinal=0))


def _sort(rows: int, limit: int | None) -> tuple[Case, int]:
    chunks, child, key = _input(rows)

    def run() -> None:
        shared = SortContext(Sort(output=child.output, keys=(key,), child=child), _SETTINGS)
        sink, source = SortSinkFactory(shared), SortSourceFactory(shared)
        _run([[_Factory(lambda: _ChunkSource(chunks)), sink], [source, _Factory(_DiscardSink)]], limit)

    return run, rows


@micro("sort of three columns in memory")
def sort_in_memory(rows: int) -> tuple[Case, int]:
    return _sort(rows // 4, None)


@micro("sort of three columns, spilled")
def sort_spilled(rows: int) -> tuple[Case, int]:
    return _sort(rows // 4, rows // 4 * 12)


@micro("first 100 rows of three columns")
def first_rows(rows: int) -> tuple[Case, int]:
    rows //= 4
    chunks, child, key = _input(rows)
    node = TopN(output=child.output, keys=(key,), limit=100, child=child)
    top_n = TopNFactory(node, _SETTINGS, offset=0)
    factories = [_Factory(lambda: _ChunkSource(chunks)), top_n, _Factory(_DiscardSink)]
    return (lambda: _run([factories], None)), rows
