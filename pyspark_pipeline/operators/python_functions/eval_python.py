"""EvalPython: appends the results of the user's functions, which get batches of the size that Spark would send."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence

import pyarrow as pa

from pyspark_pipeline.errors import PipelineError
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.expressions import CompiledExpressions, ExpressionSettings, compile_expressions
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.operators.python_functions.calls import (
    Evaluate,
    argument_schema,
    batch_of,
    load_calls,
    result_columns,
    user_error,
)
from pyspark_pipeline.operators.python_functions.row_batches import RowBatches
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.plan.expr import columns_read
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.properties import RequiredOutput
from pyspark_pipeline.plan.python_functions import BatchLimits, EvalIterator, EvalPython


class LoadedFunctions:
    """The functions of a node, loaded by the first batch. One driver at a time calls them: they may share state."""

    def __init__(self, node: EvalPython, settings: Settings) -> None:
        self._functions = node.functions
        self._settings = settings
        self._schema = argument_schema(node.arguments, settings.time_zone)
        self._lock = threading.Lock()
        self._evaluate: Evaluate | None = None

    def batch(self, arguments: Sequence[pa.Array], rows: int) -> pa.RecordBatch:
        """Return the batch of the arguments of ``rows`` rows."""
        return batch_of(arguments, self._schema, rows)

    def results(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """Return the results for a batch; raise :func:`user_error`, whose cause is the function's error."""
        with self._lock:
            try:
                self._evaluate = self._evaluate or load_calls(self._functions, self._settings)
                (made,) = self._evaluate(0, iter([batch]))
            except PipelineError:
                raise
            except (Exception, SystemExit) as error:
                raise user_error(self._functions.names, error) from error
        return result_columns(made, self._functions)


class EvalPythonOperator(Operator):
    """Collects rows until they are a batch; the last batch of the driver may have fewer rows."""

    def __init__(self, arguments: CompiledExpressions, functions: LoadedFunctions, limits: BatchLimits) -> None:
        self._functions = functions
        self._rows = RowBatches(limits, lambda rows: functions.batch(arguments.evaluate(rows), rows.num_rows))
        self._batches: deque[tuple[Chunk, pa.RecordBatch]] = deque()
        self._finishing = False

    def need_input(self) -> bool:
        return not self._finishing and not self.has_output()

    def push_chunk(self, chunk: Chunk) -> None:
        self._rows.add(chunk)

    def has_output(self) -> bool:
        return bool(self._batches) or self._rows.may_have_batch() or (self._finishing and self._rows.num_rows > 0)

    def pull_chunk(self) -> Chunk | None:
        if not self._batches:
            self._batches.extend(self._rows.take(is_end=self._finishing))
        if not self._batches:
            return None
        rows, arguments = self._batches.popleft()
        return make_chunk([*rows.columns, *self._functions.results(arguments)], rows.num_rows)

    def is_finished(self) -> bool:
        return self._finishing and not self._batches and not self._rows.num_rows

    def set_finishing(self) -> None:
        self._finishing = True

    def set_finished(self) -> None:
        self._finishing = True
        self.close()

    def close(self) -> None:
        self._batches.clear()
        self._rows.clear()


class EvalPythonFactory(OperatorFactory):
    """Makes the operators, which share the functions."""

    name = "EvalPython"

    def __init__(self, node: EvalPython, settings: Settings) -> None:
        self._arguments = compile_expressions(node.arguments, ExpressionSettings.of(settings))
        self._functions = LoadedFunctions(node, settings)
        self._limits = node.functions.limits
        self.detail = node.functions.names

    def create(self, dop: int, driver_sequence: int) -> EvalPythonOperator:
        return EvalPythonOperator(self._arguments, self._functions, self._limits)


def required_input(node: EvalPython | EvalIterator, required: RequiredOutput) -> tuple[RequiredOutput]:
    """Require the columns read above and by the arguments, in one form, since chunks are concatenated."""
    below = frozenset(range(len(node.child.output)))
    return (RequiredOutput(unused=(required.unused & below) - columns_read(node.arguments)),)


@implements(
    EvalPython, execs=["ArrowEvalPythonExec", "BatchEvalPythonExec"], pipeline=["EvalPython"], requires=required_input
)
def decompose_eval_python(node: EvalPython, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append the functions to the child's pipeline."""
    return [*builder.decompose(node.child), EvalPythonFactory(node, builder.settings)]
