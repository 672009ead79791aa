"""How the spill files of an instance are written, and how many bytes they may have together."""

from __future__ import annotations

import threading

from pyspark_pipeline.errors import ResourceExhaustedError


class SpillRoom:
    """Counts the bytes of an instance's spill files; any thread.

    They may be ``max_bytes`` (0: as many as the disk takes). ``codec`` is how buffers are compressed in them, by
    Arrow's name (lz4, zstd), or "none".
    """

    __slots__ = ("codec", "max_bytes", "held", "_lock")

    def __init__(self, *, codec: str = "none", max_bytes: int = 0) -> None:
        self.codec = codec
        self.max_bytes = max_bytes
        self.held = 0
        self._lock = threading.Lock()

    def take(self, nbytes: int) -> None:
        """Count bytes of files. Raises :class:`ResourceExhaustedError`, and counts nothing, where that is too many."""
        with self._lock:
            if self.max_bytes and self.held + nbytes > self.max_bytes:
                raise ResourceExhaustedError(
                    f"no spill file can be written: asked for {nbytes} bytes, {self.held} are in files, "
                    f"spark.pysparkPipeline.spill.maxBytes allows {self.max_bytes}"
                )
            self.held += nbytes

    def give_back(self, nbytes: int) -> None:
        """Count bytes of files as gone."""
        with self._lock:
            self.held -= nbytes
