"""Spark's random numbers: the generator ``org.apache.spark.util.random.XORShiftRandom``, a state of 64 bits."""

from __future__ import annotations

import math

import numpy as np

from pyspark_pipeline.kernels.arrays import Float64Array, Int32Array, UInt8Array, UInt64Array
from pyspark_pipeline.kernels.fdlibm import log
from pyspark_pipeline.kernels.jit import kernel

_ARRAY_SEED = 0x3C074A61  # scala.util.hashing.MurmurHash3.arraySeed


def initial_state(seed: int) -> UInt64Array:
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


@kernel(forceinline=True)
def _advanced(state: np.uint64) -> np.uint64:
    state ^= state << np.uint64(21)
    state ^= state >> np.uint64(35)
    return state ^ (state << np.uint64(4))


@kernel(forceinline=True)
def _double_of(first: np.uint64, second: np.uint64) -> float:
    """Return the ``nextDouble`` of two consecutive states."""
    high = first & np.uint64((1 << 26) - 1)
    low = second & np.uint64((1 << 27) - 1)
    return np.float64(np.int64((high << np.uint64(27)) + low)) * 2.0**-53


@kernel
def rows_in_cell(state: UInt64Array, lower: float, upper: float, total: int, rows: Int32Array) -> int:
    """Draw a ``nextDouble`` for each of ``total`` rows; write the rows drawn in [``lower``, ``upper``) to ``rows``.

    ``rows``: int32, as long as ``total``. Advances ``state``, and returns the count of the rows written.
    """
    s = state[0]
    count = 0
    for i in range(total):
        first = _advanced(s)
        s = _advanced(first)
        x = _double_of(first, s)
        rows[count] = i
        count += (x >= lower) & (x < upper)
    state[0] = s
    return count


@kernel
def draw_doubles(state: UInt64Array, out: Float64Array) -> None:
    """Write a ``nextDouble`` to each item of ``out``, float64; advances ``state``."""
    s = state[0]
    for i in range(out.size):
        first = _advanced(s)
        s = _advanced(first)
        out[i] = _double_of(first, s)
    state[0] = s


@kernel
def draw_gaussians(state: UInt64Array, spare: Float64Array, out: Float64Array) -> None:
    """Write a ``nextGaussian`` to each item of ``out``, float64; advances ``state``.

    Numbers are drawn in pairs: ``spare``, float64 of shape (1,), is the second of the last pair, NaN if it was used.
    """
    s = state[0]
    for i in range(out.size):
        if not math.isnan(spare[0]):
            out[i] = spare[0]
            spare[0] = math.nan
            continue
        while True:
            first = _advanced(s)
            second = _advanced(first)
            x = 2 * _double_of(first, second) - 1
            first = _advanced(second)
            s = _advanced(first)
            y = 2 * _double_of(first, s) - 1
            square = x * x + y * y
            if 0 < square < 1:
                break
        factor = math.sqrt(-2 * log(square) / square)
        out[i] = x * factor
        spare[0] = y * factor
    state[0] = s


@kernel
def draw_characters(state: UInt64Array, out: UInt8Array) -> None:
    """Write a digit or an ASCII letter to each item of ``out``, uint8, by a ``nextInt``; advances ``state``."""
    s = state[0]
    for i in range(out.size):
        s = _advanced(s)
        number = np.int64(np.int32(s & np.uint64(0xFFFFFFFF)))
        rest = abs(number) % 62
        if rest < 10:
            out[i] = 48 + rest
        elif rest < 36:
            out[i] = 87 + rest
        else:
            out[i] = 29 + rest
    state[0] = s
