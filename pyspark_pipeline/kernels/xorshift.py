"""Spark's random numbers: the generator ``org.apache.spark.util.random.XORShiftRandom``, a state of 64 bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyspark_pipeline.kernels.jit import kernel

_ARRAY_SEED = 0x3C074A61  # scala.util.hashing.MurmurHash3.arraySeed


def initial_state(seed: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return the state of a generator that is seeded with the Java long ``seed``, modulo 2^64; shape (1,), uint64."""
    data = (seed & (2**64 - 1)).to_bytes(8, "big")
    low = _hash_bytes(data, _ARRAY_SEED)
    return np.array([_hash_bytes(data, low) << 32 | low], dtype=np.uint64)


def _hash_bytes(data: bytes, seed: int) -> int:
    """Return Scala's ``MurmurHash3.bytesHash`` of bytes whose count is a multiple of 4."""
    mask = 0xFFFFFFFF
    h = seed
    for start in range(0, len(data), 4):
        k = int.from_bytes(data[start : start + 4], "little") * 0xCC9E2D51 & mask
        h ^= (k << 15 | k >> 17) * 0x1B873593 & mask
        h = ((h << 13 | h >> 19) * 5 + 0xE6546B64) & mask
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & mask
    h = (h ^ h >> 13) * 0xC2B2AE35 & mask
    return h ^ h >> 16


@kernel
def rows_in_cell(state: Any, lower: float, upper: float, total: int, rows: Any) -> int:
    """Draw a ``nextDouble`` for each of ``total`` rows; write the rows drawn in [``lower``, ``upper``) to ``rows``.

    ``rows``: int32, as long as ``total``. Advances ``state``, and returns the count of the rows written.
    """
    s = state[0]
    count = 0
    for i in range(total):
        s ^= s << np.uint64(21)
        s ^= s >> np.uint64(35)
        s ^= s << np.uint64(4)
        high = s & np.uint64((1 << 26) - 1)
        s ^= s << np.uint64(21)
        s ^= s >> np.uint64(35)
        s ^= s << np.uint64(4)
        low = s & np.uint64((1 << 27) - 1)
        x = np.float64(np.int64((high << np.uint64(27)) + low)) * 2.0**-53
        rows[count] = i
        count += (x >= lower) & (x < upper)
    state[0] = s
    return count
