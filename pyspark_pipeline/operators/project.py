"""Project: compute columns, or only choose and order them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.expressions import CompiledExpressions, ExpressionSettings, compile_expressions
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.operators.filter import FilterFactory
from pyspark_pipeline.operators.joins.probe import JoinProbeFactory
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.streaming import StreamingOperator
from pyspark_pipeline.plan.expr import ColumnRef, columns_read
from pyspark_pipeline.plan.nodes import Project, Settings


class SelectOperator(StreamingOperator):
    """Chooses columns by ordinal without touching their data."""

    def __init__(self, ordinals: Sequence[int]) -> None:
        super().__init__()
        self._ordinals = list(ordinals)

    def transform(self, chunk: Chunk) -> Chunk:
        return make_chunk([chunk.column(i) for i in self._ordinals], chunk.num_rows)


class ProjectOperator(StreamingOperator):
    """Evaluates expressions."""

    def __init__(self, expressions: CompiledExpressions) -> None:
        super().__init__()
        self._expressions = expressions

    def transform(self, chunk: Chunk) -> Chunk:
        return make_chunk(self._expressions.evaluate(chunk), chunk.num_rows)


class ProjectFactory(OperatorFactory):
    """Makes a selection where all expressions are columns, else a projection."""

    name = "Project"

    def __init__(self, node: Project, settings: Settings) -> None:
        self._exprs = node.exprs
        self._settings = ExpressionSettings.of(settings)

    def create(self, dop: int, driver_sequence: int) -> StreamingOperator:
        ordinals = [expr.ordinal for expr in self._exprs if isinstance(expr, ColumnRef)]
        if len(ordinals) == len(self._exprs):
            return SelectOperator(ordinals)
        return ProjectOperator(compile_expressions(self._exprs, self._settings))


@implements(Project, execs=["ProjectExec"], pipeline=["Project"])
def decompose_project(node: Project, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append a projection; a filter or join right below it drops the columns it does not read."""
    below = builder.decompose(node.child)
    if isinstance(below[-1], FilterFactory | JoinProbeFactory):
        below[-1].keep_only(columns_read(node.exprs))
    return [*below, ProjectFactory(node, builder.settings)]
