"""Execution of a plan node without Spark: decompose it, execute it serially, return its rows as an Arrow table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pyspark_pipeline.exchange import (
    ChunkRow,
    ExchangeSourceFactory,
    SinkFactory,
    StreamTransport,
    plain_schema,
)
from pyspark_pipeline.exchange.codec import read_payload
from pyspark_pipeline.exec.execute import execute
from pyspark_pipeline.exec.input_queue import InputFeed, InputQueue
from pyspark_pipeline.exec.instance import FragmentInstance
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.exec.output_queue import OutputQueue
from pyspark_pipeline.local import write
from pyspark_pipeline.local.write import call as call
from pyspark_pipeline.local.write import column as column
from pyspark_pipeline.local.write import literal as literal
from pyspark_pipeline.operators import decompose_node
from pyspark_pipeline.options import Options
from pyspark_pipeline.plan.nodes import (
    ExchangeSource,
    ExecutorCalendar,
    Field,
    Node,
    PartitionDependentNode,
    ResultSink,
    ScanSplit,
    Settings,
    Sink,
)
from pyspark_pipeline.planner.pipelines import PipelineSet

DEFAULTS = Settings(ansi=True, time_zone="UTC", options=Options({"debug.checkChunks": "true"}))


def fields(spec: str) -> tuple[Field, ...]:
    """Parse ``"a:bigint, b:decimal(10;2)"`` (with a semicolon inside parentheses) to fields."""
    return write.fields(spec.replace(";", ","))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunks(Node):
    """A leaf of given chunks."""

    chunks: tuple[Any, ...] = ()


class ChunksOperator(Operator):
    """Outputs chunks of a shared list."""

    def __init__(self, left: list[Chunk]) -> None:
        self._left = left
        self._done = False

    def has_output(self) -> bool:
        return not self._done and bool(self._left)

    def pull_chunk(self) -> Chunk | None:
        try:
            return self._left.pop(0)
        except IndexError:  # another driver was faster
            return None

    def is_finished(self) -> bool:
        return self._done or not self._left

    def set_finished(self) -> None:
        self._done = True


class ChunksFactory(OperatorFactory):
    """Holds the list."""

    name = "Chunks"

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self._left = [chunk for chunk in chunks if chunk.num_rows]

    def create(self, dop: int, driver_sequence: int) -> Operator:
        return ChunksOperator(self._left)


class Builder(PipelineSet):
    """The planner for tests, with given chunks, queues, splits and ranges as leaves."""

    def __init__(
        self,
        settings: Settings = DEFAULTS,
        *,
        dop: int = 1,
        scans: Mapping[int, Sequence[ScanSplit]] | None = None,
        ranges: Mapping[int, tuple[int, int, int]] | None = None,
        calendar: ExecutorCalendar | None = None,
        partition: int = 0,
        staging: str = "",
    ) -> None:
        super().__init__(settings, dop)
        self.staging = staging
        self.partition = partition
        self._calendar = calendar or ExecutorCalendar()
        self.scans = scans or {}
        self.ranges = ranges or {}
        self.queues: dict[int, InputQueue] = {}

    def decompose(self, node: Node) -> list[OperatorFactory]:
        self.properties.negotiate(node)
        return self.record_output(self._decomposed(node), node)

    def _decomposed(self, node: Node) -> list[OperatorFactory]:
        if isinstance(node, Chunks):
            return [ChunksFactory(node.chunks)]
        if isinstance(node, ExchangeSource):
            queue = self.queues.setdefault(node.input_id, InputQueue(f"input {node.input_id}"))
            return [ExchangeSourceFactory(node, queue, self.settings.options.batch_rows)]
        return decompose_node(node, self)

    def splits(self, input_id: int) -> Sequence[ScanSplit]:
        return self.scans[input_id]

    def calendar(self) -> ExecutorCalendar:
        return self._calendar

    def range_slice(self, input_id: int) -> tuple[int, int, int]:
        return self.ranges[input_id]

    def local_rows(self, input_id: int) -> Sequence[bytes]:
        raise NotImplementedError

    def python_partition(self, input_id: int) -> tuple[int, bytes]:
        raise NotImplementedError

    def staging_folder(self) -> str:
        return self.staging

    def active_input(self, union: Node) -> int:
        return 0

    def partition_of(self, node: PartitionDependentNode) -> int:
        return self.partition

    def broadcast_value(self, source: Any, key: Any, make: Any, user: Any) -> Any:
        raise AssertionError("no broadcast here")

    def release_broadcasts(self, user: Any) -> None:
        raise AssertionError("no broadcast here")


def run_rows(
    node: Node,
    *,
    sink: Sink | None = None,
    builder: Builder | None = None,
    inputs: Sequence[tuple[int, ChunkRow]] = (),
    dop: int = 1,
    threads: int = 1,
) -> list[ChunkRow]:
    """Run ``node`` into ``sink``; return the output chunk rows. ``dop`` is used if there is no ``builder``."""
    made = builder or Builder(dop=dop)
    factories = made.decompose(node)
    queue = OutputQueue(made.settings.options.output_queue_chunks)
    types = tuple(f.type for f in node.output)
    factories.append(SinkFactory(sink or ResultSink(), types, made.settings, StreamTransport(queue)))
    made.add_pipeline(factories)
    feed = InputFeed(iter(inputs), made.queues) if made.queues else None
    return list(execute(FragmentInstance(made.pipelines, queue, feed=feed, check=made.checker()), threads))


def to_table(node: Node, rows: Sequence[ChunkRow]) -> pa.Table:
    """Decode chunk rows to a table with the names of ``node``'s output."""
    schema = plain_schema([f.type for f in node.output])
    chunks = [read_payload(row.data, schema) for row in rows]
    return pa.Table.from_batches(chunks, schema).rename_columns([f.name for f in node.output])


def run(node: Node, **settings: Any) -> pa.Table:
    """Run ``node`` and return its rows."""
    return to_table(node, run_rows(node, **settings))
