"""The xxHash32 of bytes, by which LZ4 block streams check their blocks.

Follows the specification of xxHash: four lanes over stripes of 16 bytes, then words of four bytes, then single bytes.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import UInt8Array, UInt32Array
from pyspark_pipeline.kernels.jit import kernel

_PRIME_1 = np.uint32(0x9E3779B1)
_PRIME_2 = np.uint32(0x85EBCA77)
_PRIME_3 = np.uint32(0xC2B2AE3D)
_PRIME_4 = np.uint32(0x27D4EB2F)
_PRIME_5 = np.uint32(0x165667B1)


@kernel(forceinline=True)
def rotated(word: np.uint32, by: int) -> np.uint32:
    """Rotate 32 bits to the left."""
    return np.uint32((word << np.uint32(by)) | (word >> np.uint32(32 - by)))


@kernel(forceinline=True)
def _round(lane: np.uint32, word: np.uint32) -> np.uint32:
    return np.uint32(rotated(np.uint32(lane + word * _PRIME_2), 13) * _PRIME_1)


@kernel
def xxhash32(words: UInt32Array, rest: UInt8Array, seed: np.uint32) -> np.uint32:
    """Return the hash of the little-endian ``words`` followed by the bytes ``rest``, fewer than four."""
    count = words.shape[0]
    size = count * 4 + rest.shape[0]
    stripes = count // 4
    if stripes:
        first = np.uint32(seed + _PRIME_1 + _PRIME_2)
        second = np.uint32(seed + _PRIME_2)
        third = seed
        fourth = np.uint32(seed - _PRIME_1)
        for stripe in range(stripes):
            at = stripe * 4
            first = _round(first, words[at])
            second = _round(second, words[at + 1])
            third = _round(third, words[at + 2])
            fourth = _round(fourth, words[at + 3])
        h = np.uint32(rotated(first, 1) + rotated(second, 7) + rotated(third, 12) + rotated(fourth, 18))
    else:
        h = np.uint32(seed + _PRIME_5)
    h = np.uint32(h + np.uint32(size))
    for at in range(stripes * 4, count):
        h = np.uint32(rotated(np.uint32(h + words[at] * _PRIME_3), 17) * _PRIME_4)
    for at in range(rest.shape[0]):
        h = np.uint32(rotated(np.uint32(h + np.uint32(rest[at]) * _PRIME_5), 11) * _PRIME_1)
    h = np.uint32((h ^ (h >> np.uint32(15))) * _PRIME_2)
    h = np.uint32((h ^ (h >> np.uint32(13))) * _PRIME_3)
    return np.uint32(h ^ (h >> np.uint32(16)))
