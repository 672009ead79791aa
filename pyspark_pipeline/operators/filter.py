"""Filter: keep the rows for which a condition is true."""

from __future__ import annotations

from collections.abc import Collection

from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.expressions import CompiledPredicate, ExpressionSettings, compile_predicate, gains_from_narrow
from pyspark_pipeline.operators.parquet_scan import ParquetScanFactory
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.streaming import StreamingOperator
from pyspark_pipeline.plan.nodes import Filter, Settings


class FilterOperator(StreamingOperator):
    """Applies a predicate; a chunk whose rows all pass goes on as it is."""

    def __init__(self, predicate: CompiledPredicate) -> None:
        super().__init__()
        self._predicate = predicate

    def transform(self, chunk: Chunk) -> Chunk:
        return self._predicate.filter(chunk)


class FilterFactory(OperatorFactory):
    """Compiles the condition anew for every driver: compiled expressions may keep scratch memory."""

    name = "Filter"

    def __init__(self, node: Filter, settings: Settings) -> None:
        self._condition = node.condition
        self._settings = ExpressionSettings.of(settings)
        types = (field.type for field in node.child.output)
        self._narrow = [type_.arrow if type_.is_decimal else None for type_ in types]

    def keep_only(self, ordinals: Collection[int]) -> None:
        """Learn that the operator above reads only these columns; others need not be filtered."""
        self.unread = frozenset(range(len(self._narrow))) - frozenset(ordinals)

    def create(self, dop: int, driver_sequence: int) -> FilterOperator:
        return FilterOperator(compile_predicate(self._condition, self._settings, self._narrow, self.unread))


@implements(Filter, execs=["FilterExec"], pipeline=["Filter"])
def decompose_filter(node: Filter, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append a filter to the child's pipeline; a scan right below one that gains leaves decimals narrow."""
    below = builder.decompose(node.child)
    if isinstance(below[-1], ParquetScanFactory) and gains_from_narrow(node.condition):
        below[-1].allow_narrow_decimals()
    return [*below, FilterFactory(node, builder.settings)]
