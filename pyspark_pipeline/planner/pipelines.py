"""The pipelines of one instance during decomposition, and the parallelism of each.

An open pipeline is the list of its factories, source first; its parallelism is that of its source. Leaves run with one
driver for each thread of the instance; the source after a local exchange or a blocking sink has the parallelism set
when it was opened. An instance with one thread has no local exchange. Before a sort or a partial aggregation the number
of rows determines the number of drivers.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark_pipeline.exec import Chunk, OperatorFactory, Pipeline
from pyspark_pipeline.exec.adaptive_parallelism import AdaptiveParallelism, CollectSinkFactory, CollectSourceFactory
from pyspark_pipeline.exec.chunk_check import ChunkChecker
from pyspark_pipeline.exec.local_distribution import Distribution, round_robin
from pyspark_pipeline.exec.local_exchange import LocalExchange
from pyspark_pipeline.exec.local_exchange_operators import LocalExchangeSinkFactory, LocalExchangeSourceFactory
from pyspark_pipeline.operators.runtime_filters import RuntimeFilters
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import Field, Node, Settings
from pyspark_pipeline.plan.properties import RequiredOutput
from pyspark_pipeline.planner.chunk_forms import chunk_checker
from pyspark_pipeline.planner.key_distribution import by_keys
from pyspark_pipeline.planner.properties import PlanProperties


class PipelineSet:
    """The closed pipelines, numbered from 0. ``dop`` is the parallelism of leaves: the instance's threads."""

    def __init__(self, settings: Settings, dop: int = 1) -> None:
        self.settings = settings
        self.dop = dop
        self.pipelines: list[Pipeline] = []
        self.runtime_filters = RuntimeFilters()
        self.collected_metrics: dict[int, Chunk] = {}
        self.properties = PlanProperties()
        self._dops: dict[OperatorFactory, int] = {}
        self._outputs: dict[OperatorFactory, Node] = {}
        self._exchanges = 0

    def add_pipeline(self, factories: Sequence[OperatorFactory]) -> None:
        """Close a pipeline: the last factory makes sinks."""
        number = len(self.pipelines)
        self.pipelines.append(Pipeline(id=number, factories=tuple(factories), dop=self.dop_of(factories)))

    def dop_of(self, factories: Sequence[OperatorFactory]) -> int:
        """Return the parallelism of an open pipeline."""
        return self._dops.get(factories[0], self.dop)

    def required_output(self, node: Node) -> RequiredOutput:
        """Return the columns and forms that the consumer of ``node`` requires."""
        return self.properties.required_output(node)

    def record_output(self, factories: list[OperatorFactory], node: Node) -> list[OperatorFactory]:
        """Record that the last of ``factories`` outputs the columns of ``node``; return ``factories``."""
        self._outputs[factories[-1]] = node
        return factories

    def output_of(self, factory: OperatorFactory) -> tuple[Field, ...] | None:
        """Return the output columns of the operators of ``factory``; None if they are not the output of a node."""
        node = self._outputs.get(factory)
        return None if node is None else node.output

    def checker(self) -> ChunkChecker | None:
        """Return the check of every chunk that moves; None unless the option ``debug.checkChunks`` is set."""
        wanted = self.settings.options.debug_check_chunks
        outputs = {factory: (node.output, self.required_output(node)) for factory, node in self._outputs.items()}
        return chunk_checker(self.pipelines, outputs) if wanted else None

    def break_pipeline(
        self, below: Sequence[OperatorFactory], sink: OperatorFactory, source: OperatorFactory
    ) -> list[OperatorFactory]:
        """Close ``below`` with ``sink`` and open a pipeline with ``source`` and the same parallelism."""
        dop = self.dop_of(below)
        self.add_pipeline([*below, sink])
        return self._open(source, dop)

    def local_shuffle(self, below: Sequence[OperatorFactory], keys: Sequence[Expr]) -> list[OperatorFactory]:
        """Open a pipeline in which one driver gets all rows of equal ``keys`` (bound to the chunks of ``below``)."""
        if self.dop == 1 or _is_partitioned(below, keys, self.dop):
            return list(below)
        return self._exchange([below], by_keys(keys, self.settings), self.dop)

    def gather(self, below: Sequence[OperatorFactory]) -> list[OperatorFactory]:
        """Open a pipeline of one driver that gets every chunk."""
        if self.dop_of(below) == 1:
            return list(below)
        return self._exchange([below], round_robin, 1)

    def adapt_parallelism(self, below: Sequence[OperatorFactory]) -> list[OperatorFactory]:
        """Open a pipeline whose parallelism follows the number of rows of ``below``; any driver may get any row.

        The row groups of a scan bound its active drivers, so a scan's pipeline is returned unchanged.
        """
        rows, dop = self.settings.options.parallelism_rows_per_driver, self.dop_of(below)
        if dop == 1 or not rows or not below[0].has_unknown_rows:
            return list(below)
        shared = AdaptiveParallelism(dop, rows_per_driver=rows)
        return self.break_pipeline(below, CollectSinkFactory(shared), CollectSourceFactory(shared))

    def union_all(self, branches: Sequence[Sequence[OperatorFactory]]) -> list[OperatorFactory]:
        """Open a pipeline that gets every chunk of all the open pipelines ``branches``."""
        return self._exchange(branches, round_robin, self.dop)

    def _exchange(
        self, branches: Sequence[Sequence[OperatorFactory]], distribution: Distribution, consumers: int
    ) -> list[OperatorFactory]:
        options = self.settings.options
        exchange = LocalExchange(
            f"local exchange {self._exchanges}",
            distribution,
            num_consumers=consumers,
            max_bytes=options.local_exchange_buffer_bytes,
            batch_rows=options.batch_rows,
        )
        self._exchanges += 1
        for below in branches:
            self.add_pipeline([*below, LocalExchangeSinkFactory(exchange)])
        return self._open(LocalExchangeSourceFactory(exchange), consumers)

    def _open(self, source: OperatorFactory, dop: int) -> list[OperatorFactory]:
        self._dops[source] = dop
        return [source]


def _is_partitioned(below: Sequence[OperatorFactory], keys: Sequence[Expr], drivers: int) -> bool:
    """Return whether the sender's exchange sink has already partitioned the rows by driver."""
    return len(below) == 1 and below[0].use_driver_queues(keys, drivers)
