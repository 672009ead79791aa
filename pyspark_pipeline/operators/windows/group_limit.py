"""The first rows of every partition of a window, by rank: what a filter on a rank above the window leaves anyway."""

from __future__ import annotations

import pyarrow as pa

from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.kernels.buffers import values
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.streaming import StreamingOperator
from pyspark_pipeline.operators.windows.boundaries import Boundaries
from pyspark_pipeline.operators.windows.ranking import RANKS
from pyspark_pipeline.operators.windows.sorted_input import sorted_input
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.windows import WindowGroupLimit


class WindowGroupLimitOperator(StreamingOperator):
    """Drops rows whose rank is over the limit; they come in the order of the window."""

    def __init__(self, node: WindowGroupLimit, settings: Settings) -> None:
        super().__init__()
        self._boundaries = Boundaries(node.spec, settings)
        self._ranks = RANKS[node.function]()
        self._limit = node.limit

    def transform(self, chunk: Chunk) -> Chunk:
        ranks = values(self._ranks.run(self._boundaries.rows(chunk), ())[0])
        kept = ranks <= self._limit
        return chunk if kept.all() else chunk.filter(pa.array(kept))


class WindowGroupLimitFactory(OperatorFactory):
    """Makes the operators."""

    name = "WindowGroupLimit"

    def __init__(self, node: WindowGroupLimit, settings: Settings) -> None:
        self._node = node
        self._settings = settings
        self.create(1, 0)  # refuses what it cannot run before anything runs

    def create(self, dop: int, driver_sequence: int) -> WindowGroupLimitOperator:
        return WindowGroupLimitOperator(self._node, self._settings)


@implements(
    WindowGroupLimit, execs=["WindowGroupLimitExec"], pipeline=["SortSink", "SortSource", "WindowGroupLimit"]
)
def decompose_group_limit(node: WindowGroupLimit, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append the limit to the pipeline that gives its rows in order."""
    return [*sorted_input(node.spec, node.child, builder), WindowGroupLimitFactory(node, builder.settings)]
