"""Which probe rows of a partition have met a build row, where the build rows come in several blocks."""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.buffers import Array


class ProbeHits:
    """A bit for each of ``rows`` rows; chunks are known by their place, as they are read alike for every block."""

    def __init__(self, rows: int) -> None:
        self.nbytes = rows // 8 + 1
        self._packed: list[Array] = []

    def of(self, place: int, rows: int) -> Array:
        """Give the flags of a chunk of ``rows`` rows: uint8, shape (rows,)."""
        if place == len(self._packed):
            return np.zeros(rows, dtype=np.uint8)
        return np.unpackbits(self._packed[place], count=rows)

    def keep(self, place: int, flags: Array) -> None:
        """Keep the flags of a chunk, of which some may have been set."""
        self._packed[place : place + 1] = [np.packbits(flags)]
