"""LocalRows: the source of rows that are part of the plan, as those of VALUES."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable

import pyarrow as pa

from pyspark_pipeline.exec.operator import Chunk, OperatorFactory
from pyspark_pipeline.kernels.empty_offsets import with_offsets
from pyspark_pipeline.operators.registry import PipelineBuilder, implements
from pyspark_pipeline.operators.shared_source import SharedSourceOperator
from pyspark_pipeline.plan.local_rows import LocalRows


class LocalRowsFactory(OperatorFactory):
    """Holds the remaining chunks, of at most ``batch_rows`` rows, shared by the drivers."""

    name = "LocalRows"

    def __init__(self, chunks: Iterable[Chunk], batch_rows: int) -> None:
        self._chunks = deque(
            chunk.slice(start, batch_rows) if chunk.num_rows > batch_rows else chunk
            for chunk in chunks
            for start in range(0, chunk.num_rows, batch_rows)
        )
        self._lock = threading.Lock()

    def create(self, dop: int, driver_sequence: int) -> SharedSourceOperator:
        return SharedSourceOperator(self)

    def next_chunk(self) -> Chunk | None:
        """Return the next chunk; None if none is left."""
        with self._lock:
            return self._chunks.popleft() if self._chunks else None


@implements(LocalRows, execs=["LocalTableScanExec", "OneRowRelationExec"], pipeline=["LocalRows"])
def decompose_local_rows(node: LocalRows, builder: PipelineBuilder) -> list[OperatorFactory]:
    """Start a pipeline with the rows of this instance's partition."""
    schema = pa.schema([pa.field(f"c{position}", field.type.arrow) for position, field in enumerate(node.output)])
    messages = builder.local_rows(node.input_id)
    chunks = (with_offsets(pa.ipc.read_record_batch(pa.py_buffer(message), schema)) for message in messages)
    return [LocalRowsFactory(chunks, builder.settings.options.batch_rows)]
