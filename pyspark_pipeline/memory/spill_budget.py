"""The codec of an instance's spill files and the limit on their total bytes."""

from __future__ import annotations

import threading

from pyspark_pipeline.errors import ResourceExhaustedError


class SpillBudget:
    """Counts the bytes of an instance's spill files. Thread-safe.

    Their limit is ``max_bytes`` (0: unlimited). ``codec`` is the compression of their buffers, by Arrow's name (lz4,
    zstd), or "none".
    """

    __slots__ = ("codec", "max_bytes", "held", "_lock")

    def __init__(self, *, codec: str = "none", max_bytes: int = 0) -> None:
        self.codec = codec
        self.max_bytes = max_bytes
        self.held = 0
        self._lock = threading.Lock()

    def reserve(self, nbytes: int) -> None:
        """Count bytes written; raise :class:`ResourceExhaustedError`, counting nothing, over the limit."""
        with self._lock:
            if self.max_bytes and self.held + nbytes > self.max_bytes:
                raise ResourceExhaustedError(
                    f"no spill file can be written: asked for {nbytes} bytes, {self.held} are in files, "
                    f"spark.pysparkPipeline.spill.maxBytes allows {self.max_bytes}"
                )
            self.held += nbytes

    def release(self, nbytes: int) -> None:
        """Count bytes of closed files as freed."""
        with self._lock:
            self.held -= nbytes
