"""The residual condition: what a pair of rows must satisfy beside equal keys."""

from __future__ import annotations

import pyarrow as pa

from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.expressions import ExpressionSettings, compile_predicate
from pyspark_pipeline.kernels.arrays import Int32Array
from pyspark_pipeline.kernels.buffers import make_chunk, values
from pyspark_pipeline.kernels.take import take
from pyspark_pipeline.operators.joins.build_side import BuildSide
from pyspark_pipeline.operators.joins.columns import ResidualColumns


class Residual:
    """Filters pairs. Only the columns that the condition reads are gathered; row numbers are two further columns."""

    def __init__(self, columns: ResidualColumns, settings: ExpressionSettings) -> None:
        self._columns = columns
        self._predicate = compile_predicate(columns.condition, settings)

    def filter(
        self, chunk: Chunk, side: BuildSide, probe: Int32Array, build: Int32Array
    ) -> tuple[Int32Array, Int32Array]:
        """Return the pairs (int32 row numbers of chunk and build side) for which the condition is true, in order.

        In a unique table no probe row is in two pairs: if there are as many pairs as rows, they are the whole chunk.
        """
        whole = side.table.is_unique and probe.size == chunk.num_rows
        read = [chunk.column(i) for i in self._columns.probe]
        columns = read if whole else [take(column, probe) for column in read]
        columns += [side.take(i, build) for i in self._columns.build]
        pairs = make_chunk([*columns, pa.array(probe), pa.array(build)], probe.size)
        left = self._predicate.filter(pairs)
        if left is pairs:
            return probe, build
        last = left.num_columns - 1
        return values(left.column(last - 1)), values(left.column(last))
