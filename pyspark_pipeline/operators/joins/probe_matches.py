"""Flags of the probe rows of a partition that have a match, if the build rows come in several blocks."""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import UInt8Array


class ProbeMatchFlags:
    """A bit for each of ``rows`` rows; chunks are identified by position, since every block reads the same chunks."""

    def __init__(self, rows: int) -> None:
        self.nbytes = rows // 8 + 1
        self._packed: list[UInt8Array] = []

    def of(self, place: int, rows: int) -> UInt8Array:
        """Return the flags of a chunk of ``rows`` rows: uint8, shape (rows,)."""
        if place == len(self._packed):
            return np.zeros(rows, dtype=np.uint8)
        return np.unpackbits(self._packed[place], count=rows)

    def keep(self, place: int, flags: UInt8Array) -> None:
        """Store the updated flags of a chunk."""
        self._packed[place : place + 1] = [np.packbits(flags)]
