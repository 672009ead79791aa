"""Returns unused pages of allocators to the system while an operator reads its spilled data.

Arrays that are read from disk, used and freed fragment the allocators' memory; over many partitions or runs that adds
up.
"""

from __future__ import annotations

import threading

from pyspark_pipeline.kernels.buffers import trim_allocators

#: Freed bytes after which allocators are trimmed.
TRIM_BYTES = 64 << 20


class AllocatorTrim:
    """Counts the bytes of freed arrays, in all threads of the process, and trims the allocators."""

    def __init__(self) -> None:
        self._nbytes = 0
        self._lock = threading.Lock()

    def note_freed(self, nbytes: int) -> None:
        """Record that arrays of ``nbytes`` bytes were freed; trim the allocators after :data:`TRIM_BYTES`."""
        with self._lock:
            self._nbytes += nbytes
            if self._nbytes < TRIM_BYTES:
                return
            self._nbytes = 0
        trim_allocators()


ALLOCATOR_TRIM = AllocatorTrim()
