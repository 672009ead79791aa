"""Filter: keep the rows for which a condition is true."""

from __future__ import annotations

from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.expressions import (
    CompiledPredicate,
    ExpressionSettings,
    can_raise,
    compile_predicate,
    gains_from_unscaled,
    split_conjuncts,
)
from pyspark_pipeline.operators.registry import Ordinals, PipelineBuilder, implements
from pyspark_pipeline.operators.streaming import StreamingOperator
from pyspark_pipeline.plan.expr import columns_read
from pyspark_pipeline.plan.nodes import Filter, Node, Settings
from pyspark_pipeline.plan.properties import RequiredOutput


class FilterOperator(StreamingOperator):
    """Applies a predicate; a chunk whose rows all pass is forwarded unchanged."""

    def __init__(self, predicate: CompiledPredicate) -> None:
        super().__init__()
        self._predicate = predicate

    def transform(self, chunk: Chunk) -> Chunk:
        return self._predicate.filter(chunk)


class FilterFactory(OperatorFactory):
    """Compiles the condition; drivers share it, each with scratch memory of its own.

    Rows of the unused columns of ``required`` are not copied; NULLs that the consumer drops may be left to it.
    """

    name = "Filter"

    def __init__(self, node: Filter, settings: Settings, required: RequiredOutput) -> None:
        types = (field.type for field in node.child.output)
        unscaled = [type_.arrow if type_.is_decimal else None for type_ in types]
        self._predicate = compile_predicate(
            node.condition, ExpressionSettings.of(settings), unscaled, required.unused, required.nulls_dropped
        )

    def create(self, dop: int, driver_sequence: int) -> FilterOperator:
        return FilterOperator(self._predicate.for_driver())


def _required_input(node: Filter, required: RequiredOutput) -> tuple[RequiredOutput]:
    """Require the columns read above and by the condition, and state its conjuncts.

    Allow unscaled decimals if the condition gains from them.
    """
    gains = gains_from_unscaled(node.condition)
    decimals = [i for i, field in enumerate(node.child.output) if field.type.is_decimal and gains]
    unused = required.unused - columns_read([node.condition])
    conjuncts = tuple(split_conjuncts(node.condition))
    return (RequiredOutput(unused=unused, unscaled=frozenset(decimals), conjuncts=conjuncts),)


def _lineage(node: Filter, columns: Ordinals, settings: ExpressionSettings) -> tuple[Node, Ordinals] | None:
    return None if can_raise([node.condition], settings) else (node.child, columns)


@implements(Filter, execs=["FilterExec"], pipeline=["Filter"], requires=_required_input, lineage=_lineage)
def decompose_filter(node: Filter, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append a filter to the child's pipeline."""
    below = builder.decompose(node.child)
    return [*below, FilterFactory(node, builder.settings, builder.required_output(node))]
