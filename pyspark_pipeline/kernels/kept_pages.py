"""Gives pages that allocators keep back to the system while an operator that spills goes on.

What is read from disk, used and dropped again leaves holes; they add up over many partitions or runs.
"""

from __future__ import annotations

import threading

from pyspark_pipeline.kernels.buffers import release_kept

#: After so many bytes that came and went.
RELEASE_BYTES = 64 << 20


class KeptPages:
    """Counts bytes of arrays that are gone, in all threads of the process."""

    def __init__(self) -> None:
        self._nbytes = 0
        self._lock = threading.Lock()

    def left(self, nbytes: int) -> None:
        """Learn that arrays of ``nbytes`` bytes are gone; after :data:`RELEASE_BYTES` give back what is kept."""
        with self._lock:
            self._nbytes += nbytes
            if self._nbytes < RELEASE_BYTES:
                return
            self._nbytes = 0
        release_kept()


KEPT = KeptPages()
