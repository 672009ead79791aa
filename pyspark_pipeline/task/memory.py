"""How much memory an instance may hold: what Spark allows a Python worker, less what the process is already.

Spark turns ``spark.executor.pyspark.memory`` into ``PYSPARK_EXECUTOR_MEMORY_MB`` (MiB, one worker's share) and
limits the worker's address space to it (``RLIMIT_AS``). The address space also holds the interpreter, its
libraries and what chunks on the move need, which no operator counts; so the operators get a part of what is left.
"""

from __future__ import annotations

import gc
import os

from pyspark_pipeline.kernels.buffers import release_kept
from pyspark_pipeline.memory import MemoryTracker
from pyspark_pipeline.memory.address_space import address_space_bytes

VARIABLE = "PYSPARK_EXECUTOR_MEMORY_MB"

#: For chunks on the move and files being read …
_MOVING_BYTES = 160 << 20
#: … and of what is left, the rest for arrays that are copied as they grow, and for holes between them.
OPERATORS_SHARE = 0.7
_LEAST_BYTES = 16 << 20
#: An instance that held so much leaves nothing in the pools.
LARGE_BYTES = 128 << 20
_IDLE_BYTES = 256 << 20
_IDLE_SHARE = 8
#: The root of the tree: all that this worker process counts.
_WORKER = MemoryTracker("worker")


def instance_memory() -> MemoryTracker:
    """Make the tracker of a fragment instance, to be closed with it; without Spark's limit it has none either."""
    return _WORKER.child("instance", limit=operator_bytes(os.environ.get(VARIABLE), address_space_bytes()))


def broadcast_memory() -> MemoryTracker:
    """Make the tracker of what the worker makes of broadcasts, and keeps from task to task."""
    return _WORKER.child("tables of broadcasts")


def idle_broadcast_bytes() -> int:
    """Give the bytes that what was made of broadcasts may hold while no task reads them."""
    allowed = int(os.environ.get(VARIABLE, "0")) << 20
    return min(_IDLE_BYTES, allowed // _IDLE_SHARE) if allowed > 0 else _IDLE_BYTES


def give_back(peak: int) -> None:
    """Return to the system what pools keep of an instance that held ``peak`` bytes and is gone, where that is much.

    What a smaller one leaves stays for the next task, which then need not touch new pages.
    """
    if peak >= LARGE_BYTES:
        gc.collect()
        release_kept()


def operator_bytes(allowed_mib: str | None, used: int) -> int | None:
    """Give the bytes that operators may hold of ``allowed_mib`` MiB where ``used`` bytes are taken; None: no limit."""
    if allowed_mib is None or int(allowed_mib) <= 0:
        return None
    left = (int(allowed_mib) << 20) - used - _MOVING_BYTES
    return max(_LEAST_BYTES, int(left * OPERATORS_SHARE))
