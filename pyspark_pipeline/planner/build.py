"""Cuts a fragment into pipelines: at joins, local exchanges and operators that block.

The functions that the operators register know how a node becomes factories; this builder holds what they
need (settings, splits, input queues), collects the pipelines they close, and ends the last one in
the fragment's sink.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
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
from pyspark_pipeline.exec.input_queue import FedQueue, InputQueue
from pyspark_pipeline.ids import OperatorId
from pyspark_pipeline.memory import MemoryTracker, SizedValue, SpillRoom
from pyspark_pipeline.operators import decompose_node
from pyspark_pipeline.plan.broadcasts import BroadcastSource
from pyspark_pipeline.plan.nodes import ExchangeSource, ExecutorCalendar, Fragment, Node, ScanSplit
from pyspark_pipeline.plan.unions import Union
from pyspark_pipeline.planner.pipelines import PipelineSet


class FragmentBuilder(PipelineSet):
    """Builds the pipelines of one fragment instance.

    ``control`` is the task's control message: ``splits`` by scan number, ``partition`` of the instance,
    ``calendar`` of the executor, ``maxRows`` of a message of the result. The sink sends through ``transport``.
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
    def inputs(self) -> dict[int, FedQueue]:
        """The queues that the input stream fills, by input."""
        return {number: source.input for number, source in self._sources.items()}

    def build(self) -> list[Pipeline]:
        """Give the pipelines, sources first; the last one ends in the fragment's sink."""
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
        """Make the instance that runs what :meth:`build` gave, by the fragment's options.

        ``recorder`` sees every chunk that moves before it is checked.
        """
        options = self.settings.options
        return FragmentInstance(
            self.pipelines,
            output,
            memory=memory,
            spill=self.spill_room(),
            feed=feed,
            time_slice_ms=options["timeSliceMs"],
            check=_both(recorder, self.checker()),
            cpu_time=options["metrics.cpuTime"],
            timeline=options["metrics.timeline"],
            name=name,
            background=background,
            clocks=clocks,
        )

    def spill_room(self) -> SpillRoom:
        """Make what an instance goes by where it spills."""
        options = self.settings.options
        return SpillRoom(codec=options["spill.codec"], max_bytes=options["spill.maxBytes"])

    def decompose(self, node: Node) -> list[OperatorFactory]:
        """Cut the tree below ``node``; give the factories of the pipeline still open at its root."""
        if isinstance(node, ExchangeSource):
            queue = InputQueue(f"input {node.input_id}", bound=self.dop + 1)
            source = ExchangeSourceFactory(node, queue, self.settings.options["batchRows"])
            self._sources[node.input_id] = source
            return self.gives([source], node)
        return self.gives(decompose_node(node, self), node)

    def splits(self, input_id: int) -> Sequence[ScanSplit]:
        """Give the file splits of a scan of this instance; partition values are still in wire form."""
        return [
            ScanSplit(
                path=split["path"],
                start=split["start"],
                length=split["length"],
                partition_values=tuple(split["partitionValues"]),
            )
            for split in self.control["splits"][str(input_id)]
        ]

    def calendar(self) -> ExecutorCalendar:
        """Give what the executor knows of the hybrid calendar."""
        known = self.control.get("calendar", {})
        return ExecutorCalendar(time_zone=known.get("timeZone"), table=known.get("table"))

    def range_slice(self, input_id: int) -> tuple[int, int, int]:
        """Give this instance's slice of a range: first number, count of numbers, step."""
        first, count, step = self.control["splits"][str(input_id)]
        return first, count, step

    def branch(self, union: Node) -> int | None:
        """Give the input that this instance runs (None: all); unions are numbered from the root, depth first."""
        number = next(i for i, found in enumerate(_unions(self._fragment.root)) if found is union)
        place: int | None = self.control["branches"].get(str(number))
        return place

    def broadcast_value(
        self,
        source: BroadcastSource,
        key: Hashable,
        make: Callable[[Sequence[pa.RecordBatch]], SizedValue],
        user: MemoryTracker,
    ) -> SizedValue:
        """Give what ``make`` makes of the broadcast's chunks; ``key`` is all else that decides what it makes."""
        return self._broadcasts.value(source, key, make, user)

    def leave_broadcasts(self, user: MemoryTracker) -> None:
        """Count what ``user`` holds of broadcasts as the worker's."""
        self._broadcasts.leave(user)

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
        )


def _both(first: ChunkCheck | None, second: ChunkCheck | None) -> ChunkCheck | None:
    if first is None or second is None:
        return first or second

    def check(chunk: Chunk, operator: OperatorId) -> None:
        first(chunk, operator)
        second(chunk, operator)

    return check


def _unions(node: Node) -> Iterator[Union]:
    """Give the unions of a plan, each before those below it."""
    if isinstance(node, Union):
        yield node
    for child in node.children:
        yield from _unions(child)
