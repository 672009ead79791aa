"""Probing of bloom filters that Spark serialised (``org.apache.spark.util.sketch``), without a copy of their bytes.

The format is big-endian: version (int), number of hash functions (int), in version 2 the seed (int), number of words
(int), words (long). Spark 4.1 and 4.3 write version 2 (``BloomFilterImplV2``) and still read version 1.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from pyspark_pipeline.errors import UnsupportedPlanError
from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.murmur3 import hash_long


@kernel(forceinline=True)
def _is_set(words: UInt8Array, bit: np.uint64) -> bool:
    """Return whether a bit of big-endian 64-bit words is set; ``words`` are their bytes."""
    at = bit % np.uint64(8 * words.size)
    return (words[(at >> np.uint64(3)) ^ np.uint64(7)] >> np.uint8(at & np.uint64(7))) & 1 == 1


@kernel
def _probe_first(data: Int64Array, words: UInt8Array, functions: int, found: BoolArray) -> None:
    """Follow ``BloomFilterImpl.scatterHashAndGetAllBits``: 32-bit sums."""
    for row in range(found.size):
        one = hash_long(data[row], np.uint32(0))
        other = hash_long(data[row], one)
        found[row] = True
        for _ in range(functions):
            one = np.uint32(one + other)
            bit = ~one if np.int32(one) < 0 else one
            if not _is_set(words, np.uint64(np.uint32(bit))):
                found[row] = False
                break


@kernel
def _probe_second(data: Int64Array, words: UInt8Array, functions: int, seed: int, found: BoolArray) -> None:
    """Follow ``BloomFilterImplV2.scatterHashAndGetAllBits``: 64-bit sums."""
    for row in range(found.size):
        one = hash_long(data[row], np.uint32(seed))
        other = np.int64(np.int32(hash_long(data[row], one)))
        sum_ = np.int64(np.int32(one)) * np.int64(0x7FFFFFFF)
        found[row] = True
        for _ in range(functions):
            sum_ += other
            if not _is_set(words, np.uint64(~sum_ if sum_ < 0 else sum_)):
                found[row] = False
                break


@dataclass(frozen=True, slots=True, kw_only=True)
class BloomFilter:
    """A filter of bigints: its version (1 or 2), number of hash functions, seed, and words (their bytes, read-only)."""

    version: int
    functions: int
    seed: int
    words: UInt8Array

    def might_contain(self, data: Int64Array) -> BoolArray:
        """Return Spark's ``mightContainLong`` of int64 values, shape (rows,): bool, shape (rows,)."""
        found = np.empty(data.size, dtype=np.bool_)
        if self.version == 1:
            _probe_first(data, self.words, self.functions, found)
        else:
            _probe_second(data, self.words, self.functions, self.seed, found)
        return found


_HEADERS = {1: struct.Struct(">iii"), 2: struct.Struct(">iiii")}


def read_filter(text: bytes) -> BloomFilter:
    """Read a filter that ``BloomFilter.writeTo`` wrote; the words are not copied.

    Raise :class:`UnsupportedPlanError` for a version that is neither 1 nor 2 and for bytes that are not a filter.
    """
    version = int.from_bytes(text[:4], "big", signed=True)
    header = _HEADERS.get(version)
    if header is None:
        raise UnsupportedPlanError(f"a bloom filter of version {version} is not supported, only versions 1 and 2")
    if len(text) < header.size:
        raise UnsupportedPlanError(f"{len(text)} bytes are no bloom filter")
    _, functions, *seeds, count = header.unpack_from(text)
    if not 0 < count <= (len(text) - header.size) // 8:
        raise UnsupportedPlanError(f"a bloom filter of {len(text)} bytes cannot have {count} words")
    words = np.frombuffer(text, dtype=np.uint8, count=8 * count, offset=header.size)
    return BloomFilter(version=version, functions=functions, seed=seeds[0] if seeds else 0, words=words)
