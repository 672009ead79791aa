"""CollectMetrics: passes rows on and aggregates them; the task reports the buffers, which Spark merges."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.operators.aggregation.aggregator import AggregateProgram, Aggregator
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.streaming import StreamingOperator
from pyspark_pipeline.plan.expr import Expr, columns_read
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.observations import CollectMetrics
from pyspark_pipeline.plan.properties import RequiredOutput


class CollectMetricsOperator(StreamingOperator):
    """Adds each chunk to the aggregator; stores its buffers under ``number`` at the end if there were rows."""

    def __init__(self, program: AggregateProgram, number: int, collected: dict[int, Chunk]) -> None:
        super().__init__()
        self._aggregator = Aggregator(program)
        self._number = number
        self._collected = collected

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        context.memory.reserve(self._aggregator.nbytes)

    def transform(self, chunk: Chunk) -> Chunk:
        self.context.memory.reserve(self._aggregator.nbytes_after(chunk.num_rows))
        self._aggregator.add(chunk)
        return chunk

    def set_finishing(self) -> None:
        super().set_finishing()
        if self._aggregator.rows:
            buffers = self._aggregator.buffers(0, 1)
            columns = [_plain(column) for column in buffers.columns]
            self._collected[self._number] = make_chunk(columns, 1)

    def close(self) -> None:
        super().close()
        self.context.memory.reserve(0)


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


class CollectMetricsFactory(OperatorFactory):
    """Makes the operator of the only driver: the metrics may depend on the order of the rows."""

    name = "CollectMetrics"

    def __init__(self, node: CollectMetrics, settings: Settings, collected: dict[int, Chunk]) -> None:
        self._program = AggregateProgram(node.aggregate, settings)
        self._number = node.number
        self._collected = collected

    def create(self, dop: int, driver_sequence: int) -> CollectMetricsOperator:
        return CollectMetricsOperator(self._program, self._number, self._collected)


def _required_input(node: CollectMetrics, required: RequiredOutput) -> tuple[RequiredOutput]:
    """Require all rows, what the consumer requires of the columns, and those that the metrics read in plain form."""
    exprs: list[Expr] = [expr for call in node.calls for expr in (*call.args, *((call.filter,) if call.filter else ()))]
    read = columns_read(exprs)
    unused, unscaled = required.unused - read, required.unscaled - read
    return (replace(required, unused=unused, unscaled=unscaled, nulls_dropped=frozenset(), conjuncts=()),)


@implements(CollectMetrics, execs=["CollectMetricsExec"], pipeline=["CollectMetrics"], requires=_required_input)
def decompose_collect_metrics(node: CollectMetrics, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append the operator to the child's pipeline."""
    return [*builder.decompose(node.child), CollectMetricsFactory(node, builder.settings, builder.collected_metrics)]
