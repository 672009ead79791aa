"""Cuts a fragment into pipelines: at joins, local exchanges and operators that block.

The functions that the operators register know how a node becomes factories; this builder holds what they
need (settings, splits, input queues), collects the pipelines they close, and ends the last one in
the fragment's sink.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark_pipeline.datatypes import DataType
from pyspark_pipeline.exchange import ExchangeSourceFactory, SinkFactory
from pyspark_pipeline.exec import OperatorFactory, OutputQueue, Pipeline
from pyspark_pipeline.exec.input_queue import InputQueue
from pyspark_pipeline.operators import decompose_node
from pyspark_pipeline.plan.nodes import ArrowInput, ExchangeSource, Fragment, Node, ScanSplit, Settings


class FragmentBuilder:
    """Builds the pipelines of one fragment instance.

    ``control`` is the task's control message: ``splits`` by scan number, ``partition`` of the instance.
    """

    def __init__(
        self, fragment: Fragment, control: Mapping[str, Any], queue: OutputQueue, dop: int = 1
    ) -> None:
        self._fragment = fragment
        self._control = control
        self._queue = queue
        self.inputs: dict[int, InputQueue] = {}
        self._pipelines: list[Pipeline] = []
        self.dop = dop

    @property
    def settings(self) -> Settings:
        """The settings of the fragment."""
        return self._fragment.settings

    def build(self) -> list[Pipeline]:
        """Give the pipelines, sources first; the last one ends in the fragment's sink."""
        factories = self.decompose(self._fragment.root)
        self.add_pipeline([*factories, self._sink()])
        return self._pipelines

    def decompose(self, node: Node) -> list[OperatorFactory]:
        """Cut the tree below ``node``; give the factories of the pipeline still open at its root."""
        if isinstance(node, (ExchangeSource, ArrowInput)):
            queue = self.inputs.setdefault(node.input_id, InputQueue(f"input {node.input_id}"))
            return [ExchangeSourceFactory(node, queue, self.settings.options["batchRows"])]
        return decompose_node(node, self)

    def add_pipeline(self, factories: Sequence[OperatorFactory]) -> None:
        """Close a pipeline: the last factory makes sinks."""
        self._pipelines.append(Pipeline(id=len(self._pipelines), factories=tuple(factories), dop=1))

    def splits(self, input_id: int) -> Sequence[ScanSplit]:
        """Give the file splits of a scan of this instance; partition values are still in wire form."""
        return [
            ScanSplit(
                path=split["path"],
                start=split["start"],
                length=split["length"],
                partition_values=tuple(split["partitionValues"]),
            )
            for split in self._control["splits"][str(input_id)]
        ]

    def range_slice(self, input_id: int) -> tuple[int, int, int]:
        """Give this instance's slice of a range: first number, count of numbers, step."""
        first, count, step = self._control["splits"][str(input_id)]
        return first, count, step

    def _sink(self) -> OperatorFactory:
        types: tuple[DataType, ...] = tuple(field.type for field in self._fragment.root.output)
        partition = self._control["partition"]
        return SinkFactory(
            self._fragment.sink, types, self.settings, self._queue, sender=partition, start=partition
        )
