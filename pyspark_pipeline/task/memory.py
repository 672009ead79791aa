"""The memory limit of an instance: Spark's limit of a Python worker minus the present size of the process.

Spark turns ``spark.executor.pyspark.memory`` into ``PYSPARK_EXECUTOR_MEMORY_MB`` (MiB, one worker's share) and
limits the worker's address space to it (``RLIMIT_AS``). The address space also holds the interpreter, its
libraries and chunks in transit, which no operator counts; so the operators get a share of the remainder.
"""

from __future__ import annotations

import gc
import os

from pyspark_pipeline.kernels.buffers import trim_allocators
from pyspark_pipeline.memory import MemoryTracker
from pyspark_pipeline.memory.address_space import address_space_bytes

VARIABLE = "PYSPARK_EXECUTOR_MEMORY_MB"

#: For chunks in transit and files being read …
_MOVING_BYTES = 160 << 20
#: … and the operators' share of the remainder; the rest is for arrays copied as they grow, and for fragmentation.
OPERATORS_SHARE = 0.7
_LEAST_BYTES = 16 << 20
#: After an instance with at least this peak the allocators' pools are trimmed.
LARGE_BYTES = 128 << 20
_IDLE_BYTES = 256 << 20
_IDLE_SHARE = 8
#: The root of the tracker tree: all counted memory of this worker process.
_WORKER = MemoryTracker("worker")


def instance_memory() -> MemoryTracker:
    """Create the tracker of a fragment instance, to be closed with it; without a limit of Spark it has no limit."""
    return _WORKER.child("instance", limit=operator_bytes(os.environ.get(VARIABLE), address_space_bytes()))


def broadcast_memory() -> MemoryTracker:
    """Create the tracker of the values that the worker builds from broadcasts and caches across tasks."""
    return _WORKER.child("tables of broadcasts")


def idle_broadcast_bytes() -> int:
    """Return the maximum bytes of cached broadcast values that no task reads."""
    allowed = int(os.environ.get(VARIABLE, "0")) << 20
    return min(_IDLE_BYTES, allowed // _IDLE_SHARE) if allowed > 0 else _IDLE_BYTES


def trim_after_instance(peak: int) -> None:
    """Return pooled memory to the system after an instance with a large ``peak`` (bytes).

    The pools of a smaller instance are kept for the next task, which then need not touch new pages.
    """
    if peak >= LARGE_BYTES:
        gc.collect()
        trim_allocators()


def operator_bytes(allowed_mib: str | None, used: int) -> int | None:
    """Return the operators' limit in bytes if ``used`` of ``allowed_mib`` MiB are taken; None: no limit."""
    if allowed_mib is None or int(allowed_mib) <= 0:
        return None
    left = (int(allowed_mib) << 20) - used - _MOVING_BYTES
    return max(_LEAST_BYTES, int(left * OPERATORS_SHARE))
