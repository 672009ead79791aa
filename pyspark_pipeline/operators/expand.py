"""Expand: outputs every chunk once for each projection, one projection after the other.

If a row makes a projection raise, the remaining projections output the rows before it; then the error is raised.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark_pipeline.errors import SparkConditionError
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.expressions import CompiledExpressions, ExpressionSettings, compile_expressions
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.plan.expands import Expand
from pyspark_pipeline.plan.nodes import Settings


class ExpandOperator(Operator):
    """Keeps its input chunk until every projection of it has been pulled."""

    def __init__(self, projections: Sequence[CompiledExpressions]) -> None:
        self._projections = projections
        self._chunk: Chunk | None = None
        self._failure: SparkConditionError | None = None
        self._next = 0
        self._finishing = False

    def need_input(self) -> bool:
        return self._chunk is None and not self._finishing and self._failure is None

    def push_chunk(self, chunk: Chunk) -> None:
        self._chunk, self._next = (chunk, 0) if self._projections else (None, 0)

    def has_output(self) -> bool:
        return self._chunk is not None or self._failure is not None

    def pull_chunk(self) -> Chunk | None:
        chunk = self._chunk
        if chunk is None:
            if self._failure is not None:
                raise self._failure
            return None
        try:
            columns = self._projections[self._next].evaluate(chunk)
        except SparkConditionError as error:
            self._failure = error
            self._chunk = chunk.slice(0, error.rows_before) if error.rows_before else None
            return None
        self._next += 1
        if self._next == len(self._projections):
            self._chunk = None
        return make_chunk(columns, chunk.num_rows)

    def is_finished(self) -> bool:
        return self._finishing and self._chunk is None and self._failure is None

    def set_finishing(self) -> None:
        self._finishing = True

    def set_finished(self) -> None:
        self._finishing = True
        self._chunk = self._failure = None

    def close(self) -> None:
        self._chunk = None


class ExpandFactory(OperatorFactory):
    """Makes the operators, which share the compiled projections."""

    name = "Expand"

    def __init__(self, node: Expand, settings: Settings) -> None:
        expressions = ExpressionSettings.of(settings)
        self._compiled = [compile_expressions(projection, expressions) for projection in node.projections]

    def create(self, dop: int, driver_sequence: int) -> ExpandOperator:
        return ExpandOperator(self._compiled)


@implements(Expand, execs=["ExpandExec"], pipeline=["Expand"])
def decompose_expand(node: Expand, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append an expand to the child's pipeline."""
    return [*builder.decompose(node.child), ExpandFactory(node, builder.settings)]
