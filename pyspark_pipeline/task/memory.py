"""The memory limit of an instance: Spark's limit of a Python worker minus the present size of the process.

Spark turns ``spark.executor.pyspark.memory`` into ``PYSPARK_EXECUTOR_MEMORY_MB`` (MiB, one worker's share) and
limits the worker's address space to it (``RLIMIT_AS``). The address space also holds the interpreter, its
libraries and chunks in transit, which no operator counts; so the operators get a share of the remainder.
"""

from __future__ import annotations

import gc
import os
import threading

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
#: … once no instance has run for so many seconds.
IDLE_SECONDS = 1.0
_IDLE_BYTES = 256 << 20
_IDLE_SHARE = 8
#: The root of the tracker tree: all counted memory of this worker process.
_WORKER = MemoryTracker("worker")


class IdleTrim:
    """Trims the allocators, after a large instance, once the worker has been idle for :data:`IDLE_SECONDS`.

    So the next task of a query need not touch new pages.
    """

    def __init__(self) -> None:
        self._is_due = False
        self._timer: threading.Timer | None = None

    def begin_instance(self) -> None:
        """Note that an instance begins."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def end_instance(self, *, is_large: bool) -> None:
        """Note that the instance has ended."""
        self._is_due = self._is_due or is_large
        if self._is_due:
            self.begin_instance()
            self._timer = threading.Timer(IDLE_SECONDS, self._trim)
            self._timer.daemon = True
            self._timer.start()

    def _trim(self) -> None:
        self._is_due = False
        trim_allocators()


_IDLE_TRIM = IdleTrim()


def instance_memory() -> MemoryTracker:
    """Create the tracker of a fragment instance, to be closed with it; without a limit of Spark it has no limit."""
    _IDLE_TRIM.begin_instance()
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

    That happens when the worker is idle, or at once if Spark limits the address space, of which retained pages are a
    part. The pools of smaller instances are kept.
    """
    is_large = peak >= LARGE_BYTES
    if is_large:
        gc.collect()
    if not IS_ADDRESS_SPACE_LIMITED:
        _IDLE_TRIM.end_instance(is_large=is_large)
    elif is_large:
        trim_allocators()


def operator_bytes(allowed_mib: str | None, used: int) -> int | None:
    """Return the operators' limit in bytes if ``used`` of ``allowed_mib`` MiB are taken; None: no limit."""
    if allowed_mib is None or int(allowed_mib) <= 0:
        return None
    left = (int(allowed_mib) << 20) - used - _MOVING_BYTES
    return max(_LEAST_BYTES, int(left * OPERATORS_SHARE))
