"""Project: compute columns, or only select and reorder them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.expressions import CompiledExpressions, ExpressionSettings, can_raise, compile_expressions
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.operators.registry import Ordinals, PipelineBuilder, implements
from pyspark_pipeline.operators.streaming import StreamingOperator
from pyspark_pipeline.plan.expr import ColumnRef, columns_read
from pyspark_pipeline.plan.nodes import Node, Project, Settings
from pyspark_pipeline.plan.properties import RequiredOutput


class SelectOperator(StreamingOperator):
    """Selects columns by ordinal, without a copy."""

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
    """Makes a selection if all expressions are columns, else a projection, whose drivers share the expressions."""

    name = "Project"
    maps_rows = True

    def __init__(self, node: Project, settings: Settings) -> None:
        self._ordinals = [expr.ordinal for expr in node.exprs if isinstance(expr, ColumnRef)]
        is_selection = len(self._ordinals) == len(node.exprs)
        self._compiled = None if is_selection else compile_expressions(node.exprs, ExpressionSettings.of(settings))

    def create(self, dop: int, driver_sequence: int) -> StreamingOperator:
        return SelectOperator(self._ordinals) if self._compiled is None else ProjectOperator(self._compiled)


def _required_input(node: Project, required: RequiredOutput) -> tuple[RequiredOutput]:
    """Require the columns of all expressions: unused ones are evaluated too, since they may raise.

    NULLs are dropped above of columns that pass, unless rows that should not be there could make an expression raise.
    """
    passed = [expr.ordinal for expr in node.exprs if isinstance(expr, ColumnRef)]
    dropped = [node.exprs[i] for i in required.nulls_dropped] if len(passed) == len(node.exprs) else []
    return (RequiredOutput.of_columns(node.child.output, columns_read(node.exprs), columns_read(dropped)),)


def _lineage(node: Project, columns: Ordinals, settings: ExpressionSettings) -> tuple[Node, Ordinals] | None:
    if can_raise(node.exprs, settings):
        return None
    below = [expr.ordinal if isinstance(expr, ColumnRef) else None for expr in node.exprs]
    return node.child, tuple(None if column is None else below[column] for column in columns)


@implements(Project, execs=["ProjectExec"], pipeline=["Project"], requires=_required_input, lineage=_lineage)
def decompose_project(node: Project, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append a projection to the child's pipeline."""
    return [*builder.decompose(node.child), ProjectFactory(node, builder.settings)]
