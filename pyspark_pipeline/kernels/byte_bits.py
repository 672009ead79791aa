"""The number of set bits of byte strings."""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.jit import frozen, kernel

#: The number of set bits of each byte, uint8.
SET_BITS = frozen(np.bitwise_count(np.arange(256, dtype=np.uint8)))


@kernel
def count_bits(offsets: Int32Array, data: UInt8Array, set_bits: UInt8Array, out: Int64Array) -> None:
    """Write the number of set bits of every byte string, read as (offsets, bytes), to ``out`` (int64)."""
    for row in range(out.shape[0]):
        total = 0
        for at in range(offsets[row], offsets[row + 1]):
            total += set_bits[data[at]]
        out[row] = total
