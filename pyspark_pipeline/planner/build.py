"""Decomposes a fragment into pipelines, broken at joins, local exchanges and blocking operators.

The functions that the operators register turn a node into factories; this builder holds their inputs (settings, splits,
input queues), collects the pipelines they close, and ends the last one in the fragment's sink.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.exchange import ExchangeSourceFactory, SinkFactory, Transport
from pyspark_pipeline.exchange.broadcast import BroadcastCache, Broadcasts, no_broadcast
from pyspark_pipeline.exec import Chunk, FragmentInstance, OperatorFactory, OutputQueue, Pipeline
from pyspark_pipeline.exec.background import BackgroundWork
from pyspark_pipeline.exec.clock import REAL, Clocks
from pyspark_pipeline.exec.driver import ChunkCheck
from pyspark_pipeline.exec.feed import Feed
from pyspark_pipeline.exec.input_queue import FeedQueue, InputQueue
from pyspark_pipeline.ids import OperatorId
from pyspark_pipeline.memory import MemoryTracker, SizedValue, SpillBudget
from pyspark_pipeline.operators import decompose_node
from pyspark_pipeline.plan.broadcasts import BroadcastSource
from pyspark_pipeline.plan.nodes import (
    ExchangeSource,
    ExecutorCalendar,
    Fragment,
    Node,
    PartitionDependentNode,
    ScanSplit,
)
from pyspark_pipeline.plan.unions import Union
from pyspark_pipeline.planner.pipelines import PipelineSet


class FragmentBuilder(PipelineSet):
    """Builds the pipelines of one fragment instance.

    ``control`` is the task's control message: ``splits`` by scan number, ``partition`` of the instance,
    ``calendar`` of the executor, ``maxRows`` of a message of the result,
    ``cache`` if Spark caches the result. The sink sends through ``transport``.
    ``dop`` is the parallelism of the instance.
    """

    def __init__(
        self,
        fragment: Fragment,
        control: Mapping[str, Any],
        transport: Transport,
        dop: int = 1,
        broadcasts: Broadcasts | None = None,
    ) -> None:
        super().__init__(fragment.settings, dop)
        self._fragment = fragment
        self.control = control
        self._transport = transport
        self._broadcasts = broadcasts or Broadcasts((), no_broadcast, BroadcastCache(0))
        self._sources: dict[int, ExchangeSourceFactory] = {}

    @property
    def inputs(self) -> dict[int, FeedQueue]:
        """The queues that the input stream feeds, by input number."""
        return {number: source.input for number, source in self._sources.items()}

    def build(self) -> list[Pipeline]:
        """Return the pipelines, sources first; the last one ends in the fragment's sink."""
        self.properties.negotiate(self._fragment.root)
        factories = self.decompose(self._fragment.root)
        self.add_pipeline([*factories, self._sink()])
        return self.pipelines

    def instance(
        self,
        output: OutputQueue,
        *,
        memory: MemoryTracker,
        feed: Feed | None = None,
        name: str = "",
        background: BackgroundWork | None = None,
        recorder: ChunkCheck | None = None,
        clocks: Clocks = REAL,
    ) -> FragmentInstance:
        """Build the instance that runs the pipelines of :meth:`build` with the fragment's options.

        ``recorder`` is called with every chunk that moves, before the chunk is checked.
        """
        options = self.settings.options
        return FragmentInstance(
            self.pipelines,
            output,
            memory=memory,
            spill=self.spill_budget(),
            feed=feed,
            time_slice_ms=options.time_slice_ms,
            check=_both(recorder, self.checker()),
            cpu_time=options.metrics_cpu_time,
            timeline=options.metrics_timeline,
            name=name,
            background=background,
            clocks=clocks,
        )

    def spill_budget(self) -> SpillBudget:
        """Build the spill settings of an instance: codec and disk limit."""
        options = self.settings.options
        return SpillBudget(codec=options.spill_codec, max_bytes=options.spill_max_bytes)

    def decompose(self, node: Node) -> list[OperatorFactory]:
        """Decompose the tree at ``node``; return the factories of the open pipeline at its root."""
        if isinstance(node, ExchangeSource):
            queue = InputQueue(f"input {node.input_id}", bound=self.dop + 1)
            source = ExchangeSourceFactory(node, queue, self.settings.options.batch_rows)
            self._sources[node.input_id] = source
            return self.record_output([source], node)
        return self.record_output(decompose_node(node, self), node)

    def splits(self, input_id: int) -> Sequence[ScanSplit]:
        """Return the file splits of a scan of this instance; partition values are in wire form."""
        return [
            ScanSplit(
                path=split["path"],
                start=split["start"],
                length=split["length"],
                spread_bytes=split.get("spreadBytes"),
                partition_values=tuple(split["partitionValues"]),
            )
            for split in self.control["splits"][str(input_id)]
        ]

    def calendar(self) -> ExecutorCalendar:
        """Return the executor's data of the hybrid calendar."""
        known = self.control.get("calendar", {})
        return ExecutorCalendar(time_zone=known.get("timeZone"), table=known.get("table"))

    def range_slice(self, input_id: int) -> tuple[int, int, int]:
        """Return this instance's slice of a range: first number, count of numbers, step."""
        first, count, step = self.control["splits"][str(input_id)]
        return first, count, step

    def local_rows(self, input_id: int) -> Sequence[bytes]:
        """Return the Arrow messages with this instance's rows of a local table."""
        return [base64.b64decode(message) for message in self.control["splits"][str(input_id)]]

    def python_partition(self, input_id: int) -> tuple[int, bytes]:
        """Return the index, from 0, and the pickle of the data source's partition that this instance reads."""
        part = self.control["splits"][str(input_id)]
        return part["index"], base64.b64decode(part["partition"])

    def active_input(self, union: Union) -> int | None:
        """Return the index, from 0, of the union's input that this instance runs; None for all inputs."""
        position: int | None = self.control["branches"].get(str(union.number))
        return position

    def partition_of(self, node: PartitionDependentNode) -> int:
        """Return the index, from 0, of the partition of ``node`` that this instance computes."""
        index: int = self.control["partitions"][str(node.number)]
        return index

    def staging_folder(self) -> str:
        """Return the path of the folder in which this instance writes files."""
        folder: str = self.control["staging"]
        return folder

    def broadcast_id(self, source: BroadcastSource) -> int:
        """Return Spark's id of a broadcast."""
        return self._broadcasts.id_of(source)

    def broadcast_value(
        self,
        source: BroadcastSource,
        key: Hashable,
        make: Callable[[Sequence[pa.RecordBatch]], SizedValue],
        user: MemoryTracker,
    ) -> SizedValue:
        """Return the value that ``make`` builds from the broadcast's chunks; ``key`` identifies its other inputs."""
        return self._broadcasts.value(source, key, make, user)

    def release_broadcasts(self, user: MemoryTracker) -> None:
        """Transfer the broadcast memory that ``user`` accounts for to the worker."""
        self._broadcasts.release_user(user)

    def _sink(self) -> OperatorFactory:
        types: tuple[DataType, ...] = tuple(field.type for field in self._fragment.root.output)
        partition = self.control["partition"]
        return SinkFactory(
            self._fragment.sink,
            types,
            self.settings,
            self._transport,
            start=partition,
            instances=self.control.get("instances", 1),
            max_rows=self.control.get("maxRows"),
            is_cached="cache" in self.control,
        )


def _both(first: ChunkCheck | None, second: ChunkCheck | None) -> ChunkCheck | None:
    if first is None or second is None:
        return first or second

    def check(chunk: Chunk, operator: OperatorId) -> None:
        first(chunk, operator)
        second(chunk, operator)

    return check
