"""MapPython and PythonScan: the batches that a user's function returns for an iterator over its partition's rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pyarrow as pa

from pyspark_pipeline.datatypes import parse_type
from pyspark_pipeline.exec.operator import Chunk, Operator, OperatorFactory
from pyspark_pipeline.kernels.buffers import make_chunk
from pyspark_pipeline.operators.python_functions.calls import user_error
from pyspark_pipeline.operators.python_functions.spark_columns import spark_arrow_type, to_spark
from pyspark_pipeline.operators.python_functions.struct_columns import struct_columns
from pyspark_pipeline.operators.python_functions.thread_operator import SlicingThreadOperator, ThreadFactory
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.plan.nodes import Field, Settings
from pyspark_pipeline.plan.python_functions import MapPython, PythonFunctions, PythonScan


class MapPythonOperator(SlicingThreadOperator):
    """Outputs what the function returns for the rows of its partition."""

    def __init__(
        self,
        functions: PythonFunctions,
        columns: Sequence[Field],
        output: tuple[Field, ...],
        partition: int,
        settings: Settings,
    ) -> None:
        super().__init__(functions, partition, settings)
        self._output = output
        self._returned_type: pa.DataType | None = None
        self._fields = [
            pa.field(field.name, spark_arrow_type(field.type, settings.time_zone), field.nullable) for field in columns
        ]

    def _batch(self, rows: Chunk) -> pa.RecordBatch:
        types = [field.type for field in self._fields]
        columns = [to_spark(column, type_) for column, type_ in zip(rows.columns, types, strict=True)]
        struct = pa.StructArray.from_arrays(columns, fields=self._fields)
        return pa.RecordBatch.from_arrays([struct], ["struct"])

    def _rows_of(self, batch: pa.RecordBatch) -> Chunk:
        rows = batch.column(0)
        if self._returned_type not in (None, rows.type):
            error = pa.ArrowInvalid("Tried to write record batch with different schema")  # as in Spark
            raise user_error(self._functions.names, error)
        self._returned_type = rows.type
        return make_chunk(struct_columns(rows, self._output, self._functions.names), batch.num_rows)


@implements(MapPython, execs=["MapInArrowExec", "MapInPandasExec"], pipeline=["MapPython"])
def decompose_map_python(node: MapPython, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Append the function to the child's pipeline."""
    return [*builder.decompose(node.child), _factory(node, node.child.output, builder.partition_of(node), builder)]


def _factory(
    node: MapPython | PythonScan, columns: Sequence[Field], partition: int, builder: PipelineBuilder
) -> OperatorFactory:
    """Return the factory of the operator whose function gets rows of ``columns``."""
    make = partial(MapPythonOperator, node.functions, columns, node.output, partition, builder.settings)
    return ThreadFactory("MapPython", node.functions, make)


class PartitionOperator(Operator):
    """Outputs the pickled partition of a data source as one row."""

    def __init__(self, pickled: bytes) -> None:
        self._rows: list[Chunk] = [make_chunk([pa.array([pickled], pa.binary())], 1)]

    def has_output(self) -> bool:
        return bool(self._rows)

    def pull_chunk(self) -> Chunk:
        return self._rows.pop()

    def is_finished(self) -> bool:
        return not self._rows

    def set_finished(self) -> None:
        self._rows.clear()


class PartitionFactory(OperatorFactory):
    """Makes the operator of the only driver."""

    name = "PythonPartition"

    def __init__(self, pickled: bytes) -> None:
        self._pickled = pickled

    def create(self, dop: int, driver_sequence: int) -> PartitionOperator:
        return PartitionOperator(self._pickled)


@implements(PythonScan, execs=["BatchScanExec"], pipeline=["PythonPartition", "MapPython"])
def decompose_python_scan(node: PythonScan, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Start a pipeline with the partition of this instance, and append the function that reads it."""
    index, pickled = builder.python_partition(node.input_id)
    columns = (Field(id=0, name="partition", type=parse_type("binary")),)
    return [PartitionFactory(pickled), _factory(node, columns, index, builder)]
