"""Sample: keeps each row with a probability, drawn from Spark's random numbers: the rows are those that Spark keeps."""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.kernels.take import take_rows
from pyspark_pipeline.kernels.xorshift import initial_state, rows_in_cell
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.streaming import StreamingOperator
from pyspark_pipeline.plan.properties import require_same_columns
from pyspark_pipeline.plan.samples import Sample


class SampleOperator(StreamingOperator):
    """Draws one number a row, as Spark's ``BernoulliCellSampler``; none if the cell is empty."""

    def __init__(self, lower: float, upper: float, seed: int) -> None:
        super().__init__()
        self._lower = lower
        self._upper = upper
        self._state = initial_state(seed)

    def transform(self, chunk: Chunk) -> Chunk | None:
        if self._upper - self._lower <= 0.0:
            return None
        rows = np.empty(chunk.num_rows, dtype=np.int32)
        count = rows_in_cell(self._state, self._lower, self._upper, chunk.num_rows, rows)
        if count == chunk.num_rows or not chunk.num_columns:
            return chunk.slice(0, count)
        return take_rows(chunk, rows[:count])


class SampleFactory(OperatorFactory):
    """Makes the operator of the only driver: the numbers follow the order of the rows."""

    name = "Sample"

    def __init__(self, node: Sample, partition: int) -> None:
        self._node = node
        self._partition = partition

    def create(self, dop: int, driver_sequence: int) -> SampleOperator:
        return SampleOperator(self._node.lower, self._node.upper, self._node.seed + self._partition)


@implements(Sample, execs=["SampleExec"], pipeline=["Sample"], requires=require_same_columns)
def decompose_sample(node: Sample, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append a sample to the child's pipeline."""
    return [*builder.decompose(node.child), SampleFactory(node, builder.partition_of(node))]
