"""The function that Spark's Python worker calls for a fragment's task (its Arrow map evaluation).

The shim sends it as a pickled call by name, so this module's path and the class's name are part of the
protocol between the two.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pyarrow as pa

from pyspark_pipeline.kernels.buffers import IS_ADDRESS_SPACE_LIMITED
from pyspark_pipeline.spark.broadcasts import read_broadcast
from pyspark_pipeline.task import run_fragment

# Spark already runs a task per core: Arrow's own pools would only add to them.
pa.set_cpu_count(1)
pa.set_io_thread_count(1)

# Parquet is read in a quarter less time than with Arrow's default pool (docs/decisions/memory-pools.md). Addresses
# that are limited must be given back, which the system's does.
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
