"""TablePython: joins each row with the rows that a user's table function returns for it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from pyspark_pipeline.errors import UnsupportedValueError
from pyspark_pipeline.exec.chunk_concat import concat_chunks
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.expressions import ExpressionSettings, compile_expressions
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.operators.python_functions.calls import batch_of
from pyspark_pipeline.operators.python_functions.sent_rows import SentRows
from pyspark_pipeline.operators.python_functions.spark_columns import spark_arrow_type, to_spark
from pyspark_pipeline.operators.python_functions.struct_columns import struct_columns
from pyspark_pipeline.operators.python_functions.thread_operator import SlicingThreadOperator, ThreadFactory
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.plan.expr import columns_read
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.properties import RequiredOutput
from pyspark_pipeline.plan.python_functions import TableArgument, TablePython


class TablePythonOperator(SlicingThreadOperator):
    """Gets a list of rows for each row that it sent, and for none what the function returns at the end of its input.

    Rows of the end are joined with the last row.
    """

    def __init__(self, node: TablePython, partition: int, settings: Settings) -> None:
        super().__init__(node.functions, partition, settings)
        self._kept = node.kept
        self._output = node.output[len(node.kept) :]
        values = [value for argument in node.arguments for value in argument.values]
        self._values = compile_expressions(values, ExpressionSettings.of(settings))
        self._arguments = node.arguments
        self._schema = pa.schema([_field(i, a, settings.time_zone) for i, a in enumerate(node.arguments)])
        self._num_sent = 0
        self._num_joined = 0
        self._last: Chunk | None = None  # the last joined row

    def prepare(self, context: OperatorContext) -> None:
        self._sent = SentRows(context)
        super().prepare(context)

    def _batch(self, rows: Chunk) -> pa.RecordBatch:
        values = iter(self._values.evaluate(rows))
        columns = [
            _struct([next(values) for _ in argument.values], field.type) if argument.names else next(values)
            for argument, field in zip(self._arguments, self._schema, strict=True)
        ]
        return batch_of(columns, self._schema, rows.num_rows)

    def _will_send(self, rows: Chunk) -> None:
        self._num_sent += rows.num_rows
        if self._kept:
            self._sent.add(make_chunk([rows.columns[i] for i in self._kept], rows.num_rows))

    def _rows_of(self, batch: pa.RecordBatch) -> Chunk:
        return self._joined(batch.column(0))

    def _joined(self, lists: pa.ListArray) -> Chunk:
        """Return the rows of the lists, which the function returned for the next rows or at the end."""
        lengths = np.diff(lists.offsets.to_numpy())
        rows = lists.flatten()
        left = self._taken(len(lists)) if self._kept and self._num_sent else None
        if not len(rows):
            return make_chunk([], 0)
        if not self._num_sent:
            raise UnsupportedValueError(
                f"{self._functions.names}: terminate returned rows for a partition without rows: there is no row to "
                "join them with, and Spark fails (NullPointerException)"
            )
        columns = struct_columns(rows, self._output, self._functions.names)
        if left is None:
            return make_chunk(columns, len(rows))
        places = pa.array(np.repeat(np.minimum(np.arange(len(lists)), left.num_rows - 1), lengths))
        return make_chunk([*(column.take(places) for column in left.columns), *columns], len(rows))

    def _taken(self, most: int) -> Chunk:
        """Remove and return the next rows, at most ``most``; if there are none, the last one."""
        missing = min(most, self._num_sent - self._num_joined)
        self._num_joined += missing
        pieces: list[Chunk] = []
        while missing:
            pieces.append(self._sent.take(missing))
            missing -= pieces[-1].num_rows
        if pieces:
            rows = concat_chunks(pieces)
            self._last = rows.slice(rows.num_rows - 1)
            return rows
        assert self._last is not None
        return self._last

    def close(self) -> None:
        self._last = None
        super().close()
        if hasattr(self, "_sent"):  # prepared
            self._sent.close()


def _field(number: int, argument: TableArgument, time_zone: str) -> pa.Field:
    types = [spark_arrow_type(value.type, time_zone) for value in argument.values]
    if argument.names is None:
        return pa.field(f"_{number}", types[0])
    nullable = [value.nullable for value in argument.values]
    return pa.field(f"_{number}", pa.struct(list(map(pa.field, argument.names, types, nullable))))


def _struct(columns: Sequence[pa.Array], type_: pa.StructType) -> pa.StructArray:
    cast = [to_spark(column, field.type) for column, field in zip(columns, type_, strict=True)]
    return pa.StructArray.from_arrays(cast, fields=list(type_))


def _required_input(node: TablePython, required: RequiredOutput) -> tuple[RequiredOutput]:
    """Require the columns read above and by the arguments, in one form, since chunks are concatenated."""
    kept = {column for place, column in enumerate(node.kept) if place not in required.unused}
    read = columns_read(value for argument in node.arguments for value in argument.values)
    return (RequiredOutput.of_columns(node.child.output, kept | read),)


@implements(
    TablePython,
    execs=["ArrowEvalPythonUDTFExec", "BatchEvalPythonUDTFExec"],
    pipeline=["TablePython"],
    requires=_required_input,
)
def decompose_table_python(node: TablePython, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append the function to the child's pipeline."""
    make = partial(TablePythonOperator, node, builder.partition_of(node), builder.settings)
    return [*builder.decompose(node.child), ThreadFactory("TablePython", node.functions, make)]
