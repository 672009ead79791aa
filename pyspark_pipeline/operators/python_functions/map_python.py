"""MapPython: the batches that a user's function returns for an iterator over the rows of its partition."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pyspark_pipeline.errors import PipelineError
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.operators.python_functions.calls import as_type, load_calls, spark_arrow_type, user_error
from pyspark_pipeline.operators.python_functions.function_thread import FunctionThread
from pyspark_pipeline.operators.python_functions.row_batches import RowBatches
from pyspark_pipeline.operators.python_functions.struct_columns import struct_columns
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.plan.nodes import Settings
from pyspark_pipeline.plan.python_functions import MapPython


class MapPythonOperator(Operator):
    """Sends batches to the function's thread and outputs what it returns, in chunks of at most ``chunk_rows`` rows."""

    def __init__(self, node: MapPython, partition: int, settings: Settings) -> None:
        self._node = node
        self._partition = partition
        self._settings = settings
        self._name = node.functions.names
        self._chunk_rows = settings.options.batch_rows
        self._fields = [
            pa.field(field.name, spark_arrow_type(field.type, settings.time_zone), field.nullable)
            for field in node.child.output
        ]
        self._rows = RowBatches(node.functions.max_rows)
        self._chunks: list[Chunk] = []  # cut from one batch of output, the first one last
        self._finishing = False
        self._thread: FunctionThread

    def prepare(self, context: OperatorContext) -> None:
        super().prepare(context)
        self._thread = FunctionThread(self._name, self._evaluate, context.background, context.wake)

    def _evaluate(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return load_calls(self._node.functions, self._settings)(self._partition, batches)

    def need_input(self) -> bool:
        return not self._finishing and self._thread.needs_input()

    def push_chunk(self, chunk: Chunk) -> None:
        self._rows.add(chunk)
        while self._rows.has_batch():
            self._send_batch()

    def _send_batch(self) -> None:
        rows = self._rows.take()
        types = [field.type for field in self._fields]
        columns = [as_type(column, type_) for column, type_ in zip(rows.columns, types, strict=True)]
        struct = pa.StructArray.from_arrays(columns, fields=self._fields)
        self._thread.put(pa.RecordBatch.from_arrays([struct], ["struct"]))

    def set_finishing(self) -> None:
        self._finishing = True
        if self._rows.num_rows:
            self._send_batch()
        self._thread.end_input()

    def has_output(self) -> bool:
        return bool(self._chunks) or self._thread.has_output()

    def pull_chunk(self) -> Chunk | None:
        if not self._chunks:
            try:
                batch = self._thread.take()
                columns = struct_columns(batch.column(0), self._node.output)
            except PipelineError:
                raise
            except BaseException as error:
                raise user_error(self._name, error) from error
            rows = make_chunk(columns, batch.num_rows)
            starts = range(0, rows.num_rows, self._chunk_rows)
            self._chunks = [rows.slice(start, self._chunk_rows) for start in reversed(starts)]
        return self._chunks.pop() if self._chunks else None

    def is_finished(self) -> bool:
        return not self._chunks and self._thread.is_finished()

    def pending_finish(self) -> bool:
        return not self._thread.is_done

    def set_finished(self) -> None:
        self._finishing = True
        self.close()

    def close(self) -> None:
        self._chunks = []
        self._rows.clear()
        if hasattr(self, "_thread"):  # prepared
            self._thread.stop()


class MapPythonFactory(OperatorFactory):
    """Makes the operator of the only driver: the function is called once a partition."""

    name = "MapPython"

    def __init__(self, node: MapPython, partition: int, settings: Settings) -> None:
        self._node = node
        self._partition = partition
        self._settings = settings

    def create(self, dop: int, driver_sequence: int) -> MapPythonOperator:
        return MapPythonOperator(self._node, self._partition, self._settings)


@implements(MapPython, execs=["MapInArrowExec", "MapInPandasExec"], pipeline=["MapPython"])
def decompose_map_python(node: MapPython, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append the function to the child's pipeline."""
    return [*builder.decompose(node.child), MapPythonFactory(node, builder.partition_of(node), builder.settings)]
