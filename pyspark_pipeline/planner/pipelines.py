"""The pipelines of one instance while they are being cut, and the parallelism of each.

An open pipeline is the list of its factories, source first; its parallelism is its source's. Leaves run with
as many drivers as the instance has threads; a source that stands behind a local exchange or a blocking sink
has the parallelism its opener gave it. Where the instance has one thread no local exchange is ever put in.
Before a sort or a partial aggregation the rows that come choose how many drivers go on with them.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark_pipeline.exchange import ExchangeSourceFactory
from pyspark_pipeline.exec import OperatorFactory, Pipeline
from pyspark_pipeline.exec.adaptive_parallelism import AdaptiveParallelism, CollectSinkFactory, CollectSourceFactory
from pyspark_pipeline.exec.chunk_check import ChunkChecker
from pyspark_pipeline.exec.local_distribution import Distribution, pass_through
from pyspark_pipeline.exec.local_exchange import LocalExchange
from pyspark_pipeline.exec.local_exchange_operators import LocalExchangeSinkFactory, LocalExchangeSourceFactory
from pyspark_pipeline.operators.runtime_filters import RuntimeFilters
from pyspark_pipeline.plan.expr import Expr
from pyspark_pipeline.plan.nodes import Field, Node, Settings
from pyspark_pipeline.planner.chunk_forms import chunk_checker
from pyspark_pipeline.planner.key_distribution import by_keys


class PipelineSet:
    """Collects closed pipelines, numbered from 0. ``dop`` is the parallelism of leaves: the instance's threads."""

    def __init__(self, settings: Settings, dop: int = 1) -> None:
        self.settings = settings
        self.dop = dop
        self.pipelines: list[Pipeline] = []
        self.runtime_filters = RuntimeFilters()
        self._dops: dict[OperatorFactory, int] = {}
        self._outputs: dict[OperatorFactory, tuple[Field, ...]] = {}
        self._exchanges = 0

    def add_pipeline(self, factories: Sequence[OperatorFactory]) -> None:
        """Close a pipeline: the last factory makes sinks."""
        number = len(self.pipelines)
        self.pipelines.append(Pipeline(id=number, factories=tuple(factories), dop=self.dop_of(factories)))

    def dop_of(self, factories: Sequence[OperatorFactory]) -> int:
        """Give the parallelism of an open pipeline."""
        return self._dops.get(factories[0], self.dop)

    def gives(self, factories: list[OperatorFactory], node: Node) -> list[OperatorFactory]:
        """Note that the last of ``factories`` gives the output of ``node``."""
        self._outputs[factories[-1]] = node.output
        return factories

    def output_of(self, factory: OperatorFactory) -> tuple[Field, ...] | None:
        """Give the columns of the chunks that operators of ``factory`` give; None where no node has these."""
        return self._outputs.get(factory)

    def checker(self) -> ChunkChecker | None:
        """Give what looks at every chunk that moves, where the options ask for it (``debug.checkChunks``)."""
        wanted = self.settings.options["debug.checkChunks"]
        return chunk_checker(self.pipelines, self._outputs) if wanted else None

    def cut(
        self, below: Sequence[OperatorFactory], sink: OperatorFactory, source: OperatorFactory
    ) -> list[OperatorFactory]:
        """Close ``below`` with ``sink`` and open a pipeline of as many drivers with ``source``."""
        dop = self.dop_of(below)
        self.add_pipeline([*below, sink])
        return self._open(source, dop)

    def local_shuffle(self, below: Sequence[OperatorFactory], keys: Sequence[Expr]) -> list[OperatorFactory]:
        """Open a pipeline in which all rows of equal ``keys`` (bound to the chunks of ``below``) meet in one driver."""
        if self.dop == 1 or _is_dealt(below, keys, self.dop):
            return list(below)
        return self._exchange([below], by_keys(keys, self.settings), self.dop)

    def gather(self, below: Sequence[OperatorFactory]) -> list[OperatorFactory]:
        """Open a pipeline of one driver that gets every chunk."""
        if self.dop_of(below) == 1:
            return list(below)
        return self._exchange([below], pass_through, 1)

    def fit(self, below: Sequence[OperatorFactory]) -> list[OperatorFactory]:
        """Open a pipeline with as many drivers as the rows of ``below`` are worth; any driver may get any row.

        A scan has no more drivers at work than row groups, so what it gives stays in them.
        """
        rows, dop = self.settings.options["parallelism.rowsPerDriver"], self.dop_of(below)
        if dop == 1 or not rows or not isinstance(below[0], ExchangeSourceFactory):
            return list(below)
        shared = AdaptiveParallelism(dop, rows_per_driver=rows)
        return self.cut(below, CollectSinkFactory(shared), CollectSourceFactory(shared))

    def unite(self, branches: Sequence[Sequence[OperatorFactory]]) -> list[OperatorFactory]:
        """Open a pipeline that gets every chunk of all the open pipelines ``branches``."""
        return self._exchange(branches, pass_through, self.dop)

    def _exchange(
        self, branches: Sequence[Sequence[OperatorFactory]], distribution: Distribution, consumers: int
    ) -> list[OperatorFactory]:
        options = self.settings.options
        exchange = LocalExchange(
            f"local exchange {self._exchanges}",
            distribution,
            num_consumers=consumers,
            max_bytes=options["localExchange.bufferBytes"],
            batch_rows=options["batchRows"],
        )
        self._exchanges += 1
        for below in branches:
            self.add_pipeline([*below, LocalExchangeSinkFactory(exchange)])
        return self._open(LocalExchangeSourceFactory(exchange), consumers)

    def _open(self, source: OperatorFactory, dop: int) -> list[OperatorFactory]:
        self._dops[source] = dop
        return [source]


def _is_dealt(below: Sequence[OperatorFactory], keys: Sequence[Expr], drivers: int) -> bool:
    """Say whether the sender's exchange sink has dealt the rows to the drivers already."""
    source = below[0]
    return len(below) == 1 and isinstance(source, ExchangeSourceFactory) and source.deal(keys, drivers)
