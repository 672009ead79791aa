"""The address space of the process: its size, its limit (``RLIMIT_AS``), and checks before threads are started.

Spark limits a worker's by ``spark.executor.pyspark.memory``. If a new thread dies for lack of memory, Python's
``Thread.start`` waits forever, so threads are started only if enough address space is left.
"""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Sequence
from pathlib import Path

from pyspark_pipeline.errors import ResourceExhaustedError

#: Bytes that a thread needs to start, besides its stack.
_THREAD_BYTES = 4 << 20
#: Bytes of a stack if the system sets no limit.
_STACK_BYTES = 8 << 20


def address_space_bytes() -> int:
    """Return the bytes of this process's address space; 0 if unknown."""
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[0])
    except (OSError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def require_address_space(names: Sequence[str]) -> None:
    """Raise :class:`ResourceExhaustedError` if a limit leaves too little address space for threads of these names."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    used, needed = address_space_bytes(), len(names) * (_stack_bytes() + _THREAD_BYTES)
    if used + needed > limit:
        raise ResourceExhaustedError(
            f"no room for {', '.join(names)}: asked for {needed} bytes of address space; the process has {used} of its"
            f" limit {limit} bytes. In a worker of Spark that is its share of spark.executor.pyspark.memory"
        )


def start_thread(thread: threading.Thread) -> None:
    """Start a thread after :func:`require_address_space`; raise :class:`ResourceExhaustedError` if that fails."""
    try:
        thread.start()
    except RuntimeError as error:
        raise ResourceExhaustedError(f"{thread.name}: {error}") from error


def _stack_bytes() -> int:
    given = threading.stack_size() or resource.getrlimit(resource.RLIMIT_STACK)[0]
    return _STACK_BYTES if given == resource.RLIM_INFINITY else given
