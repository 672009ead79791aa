"""Decimals as narrower integers: decimal128 words to int8, int16, int32 or int64 of the unscaled value."""

from __future__ import annotations

from typing import Any

from pyspark_pipeline.kernels.arrays import Int64Array
from pyspark_pipeline.kernels.jit import kernel


@kernel
def long_bounds(words: Int64Array) -> tuple[bool, int, int]:
    """Return whether all decimals fit 64 bits, and their least and greatest unscaled values; ``words``: (2 · rows,)."""
    low, high, wide = 0, 0, 0
    for row in range(words.shape[0] // 2):
        value = words[2 * row]
        wide |= words[2 * row + 1] ^ (value >> 63)
        low = min(low, value)
        high = max(high, value)
    return wide == 0, low, high


@kernel
def narrow_decimals(words: Int64Array, out: Any) -> None:
    """Write the low words of decimals, cut to the width of ``out``, shape (rows,)."""
    for row in range(out.shape[0]):
        out[row] = words[2 * row]
