"""The process's address space: what is taken of it, what a limit (``RLIMIT_AS``) leaves, and whether threads find room.

Spark limits a worker's by ``spark.executor.pyspark.memory``. A thread that dies for lack of memory as it begins has
Python's ``Thread.start`` wait for ever, so threads are started only where there is room for them.
"""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Sequence
from pathlib import Path

from pyspark_pipeline.errors import ResourceExhaustedError

#: Besides its stack: what a thread needs to begin.
_THREAD_BYTES = 4 << 20
#: The stack where the system sets no limit.
_STACK_BYTES = 8 << 20


def address_space_bytes() -> int:
    """Give the size of this process's address space; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[0])
    except (OSError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def require_room(names: Sequence[str]) -> None:
    """Raise :class:`ResourceExhaustedError` where a limit leaves no room for threads of these names."""
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
    """Start a thread that room was required for; raise :class:`ResourceExhaustedError` where the system refuses it."""
    try:
        thread.start()
    except RuntimeError as error:
        raise ResourceExhaustedError(f"{thread.name}: {error}") from error


def _stack_bytes() -> int:
    given = threading.stack_size() or resource.getrlimit(resource.RLIMIT_STACK)[0]
    return _STACK_BYTES if given == resource.RLIM_INFINITY else given
