"""Range: the source of the numbers of one slice of ``spark.range``."""

from __future__ import annotations

import threading

import numpy as np
import pyarrow as pa

from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.shared_source import SharedSourceOperator
from pyspark_pipeline.plan.nodes import Range


class RangeFactory(OperatorFactory):
    """Holds the remaining numbers of the slice, shared by the drivers."""

    name = "Range"

    def __init__(self, first: int, count: int, step: int, batch_rows: int) -> None:
        self._next = first
        self._step = step
        self._batch_rows = batch_rows
        self._lock = threading.Lock()
        self._left = count

    def create(self, dop: int, driver_sequence: int) -> SharedSourceOperator:
        return SharedSourceOperator(self)

    def next_chunk(self) -> Chunk | None:
        """Return the next chunk of at most ``batch_rows`` numbers; None if none are left."""
        with self._lock:
            rows = min(self._batch_rows, self._left)
            first = self._next
            self._next += rows * self._step
            self._left -= rows
        if not rows:
            return None
        numbers = np.int64(first) + np.arange(rows, dtype=np.int64) * np.int64(self._step)
        return pa.RecordBatch.from_arrays([pa.array(numbers)], ["c0"])


@implements(Range, execs=["RangeExec"], pipeline=["Range"])
def decompose_range(node: Range, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Start a pipeline with the numbers of this instance's slice."""
    first, count, step = builder.range_slice(node.input_id)
    return [RangeFactory(first, count, step, builder.settings.options.batch_rows)]
