"""The function that Spark's Python worker calls for a fragment's task (its Arrow map evaluation).

The worker reaches it through ``entry.py``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pyarrow as pa

from pyspark_pipeline.kernels.buffers import IS_ADDRESS_SPACE_LIMITED
from pyspark_pipeline.spark.broadcasts import read_broadcast
from pyspark_pipeline.task import run_fragment

# Spark already runs a task per core: Arrow's own thread pools would oversubscribe the cores.
pa.set_cpu_count(1)
pa.set_io_thread_count(1)

# jemalloc reads Parquet in a quarter less time than Arrow's default pool (docs/decisions/memory-pools.md). A limited
# address space must be returned, which the system's allocator does.
if IS_ADDRESS_SPACE_LIMITED:
    pa.set_memory_pool(pa.system_memory_pool())
else:
    with contextlib.suppress(NotImplementedError):
        pa.set_memory_pool(pa.jemalloc_memory_pool())


class FragmentFunction:
    """A callable from batches of chunk rows to batches of chunk rows, for one fragment (JSON)."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return run_fragment(self._text, batches, read_broadcast)
