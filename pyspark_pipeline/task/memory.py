"""The memory limit of an instance: Spark's limit of a Python worker minus the present size of the process.

Spark turns ``spark.executor.pyspark.memory`` into ``PYSPARK_EXECUTOR_MEMORY_MB`` (MiB, one worker's share) and
limits the worker's address space to it (``RLIMIT_AS``). The address space also holds the interpreter, its
libraries and chunks in transit, which no operator counts; so the operators get a share of the remainder.
"""

from __future__ import annotations

import gc
import os
import select
import socket

from pyspark_pipeline.kernels.buffers import IS_ADDRESS_SPACE_LIMITED, trim_allocators
from pyspark_pipeline.memory import MemoryTracker
from pyspark_pipeline.memory.address_space import address_space_bytes

VARIABLE = "PYSPARK_EXECUTOR_MEMORY_MB"

#: For chunks in transit and files being read …
_MOVING_BYTES = 160 << 20
#: … and the operators' share of the remainder; the rest is for arrays copied as they grow, and for fragmentation.
OPERATORS_SHARE = 0.7
_LEAST_BYTES = 16 << 20
#: After an instance with at least this peak the allocators are trimmed …
LARGE_BYTES = 128 << 20
#: … once the worker has had no task for so many seconds.
IDLE_SECONDS = 30.0
_IDLE_BYTES = 256 << 20
_IDLE_SHARE = 8
#: The root of the tracker tree: all counted memory of this worker process.
_WORKER = MemoryTracker("worker")


class IdleTrim:
    """Trims the allocators, after a large instance, once the worker has waited :data:`IDLE_SECONDS` for its next task.

    So the next task of a query need not touch new pages. The thread that ran the instance trims, for an allocator keeps
    what a thread has freed for that thread. Where nobody waits, as without the engine's daemon, and where Spark limits
    the address space, the allocators are trimmed at once.
    """

    def __init__(self) -> None:
        self._waits = False
        self._is_due = False

    def wait_for_task(self, connection: socket.socket) -> None:
        """Wait until Spark sends the next task, or until the allocators have been trimmed."""
        self._waits = not IS_ADDRESS_SPACE_LIMITED
        if not self._is_due:
            return
        arrival = select.poll()
        arrival.register(connection, select.POLLIN)
        if not arrival.poll(IDLE_SECONDS * 1000):
            self._is_due = False
            trim_allocators()

    def end_large_instance(self) -> None:
        """Trim the allocators now or, if the worker waits for its next task, then."""
        if self._waits:
            self._is_due = True
        else:
            trim_allocators()


IDLE_TRIM = IdleTrim()


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
    """Return pooled memory to the system after an instance with a large ``peak`` (bytes); see :class:`IdleTrim`.

    The pools of smaller instances are kept.
    """
    if peak >= LARGE_BYTES:
        gc.collect()
        IDLE_TRIM.end_large_instance()


def operator_bytes(allowed_mib: str | None, used: int) -> int | None:
    """Return the operators' limit in bytes if ``used`` of ``allowed_mib`` MiB are taken; None: no limit."""
    if allowed_mib is None or int(allowed_mib) <= 0:
        return None
    left = (int(allowed_mib) << 20) - used - _MOVING_BYTES
    return max(_LEAST_BYTES, int(left * OPERATORS_SHARE))
