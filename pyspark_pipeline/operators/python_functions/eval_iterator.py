"""EvalIterator: appends the results of a function that maps an iterator over batches of its arguments."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.expressions import ExpressionSettings, compile_expressions
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.operators.python_functions.calls import argument_schema, batch_of, result_columns
from pyspark_pipeline.operators.python_functions.eval_python import required_input
from pyspark_pipeline.operators.python_functions.sent_rows import SentRows
from pyspark_pipeline.operators.python_functions.thread_operator import ThreadFactory, ThreadOperator
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.python_functions import EvalIterator


class EvalIteratorOperator(ThreadOperator):
    """Keeps the rows that were sent until their results return, in batches of any size."""

    def __init__(self, node: EvalIterator, partition: int, settings: Settings) -> None:
        super().__init__(node.functions, partition, settings)
        self._arguments = compile_expressions(node.arguments, ExpressionSettings.of(settings))
        self._schema = argument_schema(node.arguments, settings.time_zone)
        self._results: Chunk | None = None

    def prepare(self, context: OperatorContext) -> None:
        self._sent = SentRows(context)
        super().prepare(context)

    def _batch(self, rows: Chunk) -> pa.RecordBatch:
        return batch_of(self._arguments.evaluate(rows), self._schema, rows.num_rows)

    def _will_send(self, rows: Chunk) -> None:
        self._sent.add(rows)

    def has_output(self) -> bool:
        return self._results is not None or super().has_output()

    def pull_chunk(self) -> Chunk | None:
        if self._results is None:
            made = self._returned()
            columns = result_columns(made, self._functions)
            self._results = make_chunk(columns, made.num_rows) if made.num_rows else None
        if self._results is None:
            return None
        rows = self._sent.take(self._results.num_rows)
        results, rest = self._results.slice(0, rows.num_rows), self._results.slice(rows.num_rows)
        self._results = rest if rest.num_rows else None
        return make_chunk([*rows.columns, *results.columns], rows.num_rows)

    def is_finished(self) -> bool:
        return self._results is None and super().is_finished()

    def close(self) -> None:
        super().close()
        self._results = None
        if hasattr(self, "_sent"):  # prepared
            self._sent.close()


@implements(EvalIterator, execs=(), pipeline=(), requires=required_input)  # the manifest lists EvalPython for its class
def decompose_eval_iterator(node: EvalIterator, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append the function to the child's pipeline."""
    make = partial(EvalIteratorOperator, node, builder.partition_of(node), builder.settings)
    return [*builder.decompose(node.child), ThreadFactory("EvalIterator", node.functions, make)]
