"""The group limit: drops the rows of each window partition that a filter on the rank above the window would drop."""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.kernels.buffers import values
from pyspark_pipeline.kernels.take import filter_rows
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.streaming import StreamingOperator
from pyspark_pipeline.operators.windows.boundaries import Boundaries
from pyspark_pipeline.operators.windows.ranking import RANKS
from pyspark_pipeline.operators.windows.sorted_input import sorted_input
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.windows import WindowGroupLimit


class WindowGroupLimitOperator(StreamingOperator):
    """Drops rows whose rank exceeds the limit; the input is in the order of the window."""

    def __init__(self, node: WindowGroupLimit, settings: Settings) -> None:
        super().__init__()
        self._boundaries = Boundaries(node.spec, settings)
        self._ranks = RANKS[node.function]()
        self._limit = node.limit

    def transform(self, chunk: Chunk) -> Chunk:
        ranks = values(self._ranks.run(self._boundaries.rows(chunk), ())[0])
        kept = ranks <= self._limit
        return filter_rows(chunk, kept.view(np.uint8))


class WindowGroupLimitFactory(OperatorFactory):
    """Creates the operators."""

    name = "WindowGroupLimit"

    def __init__(self, node: WindowGroupLimit, settings: Settings) -> None:
        self._node = node
        self._settings = settings
        self.create(1, 0)  # raises for unsupported plans before anything runs

    def create(self, dop: int, driver_sequence: int) -> WindowGroupLimitOperator:
        return WindowGroupLimitOperator(self._node, self._settings)


@implements(
    WindowGroupLimit,
    execs=["WindowGroupLimitExec"],
    pipeline=["SortSink", "SortSource", "WindowGroupLimit"],
    order=lambda node: node.spec,
)
def decompose_group_limit(node: WindowGroupLimit, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append the limit to the pipeline that sorts its input."""
    return [*sorted_input(node.spec, node.child, builder), WindowGroupLimitFactory(node, builder.settings)]
