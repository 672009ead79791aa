"""Kernels of COUNT_MIN_SKETCH, after Spark's ``CountMinSketchImpl``.

``words``: int64, for each group the number of its values, then ``depth`` rows of ``width`` counts.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.murmur3 import is_valid

_PRIME = 2**31 - 1
_VERSION = 1
_MASK = 2**48 - 1


def hash_factors(seed: int, depth: int) -> Int64Array:
    """Return the factors of the hashes: ``java.util.Random(seed).nextInt(2**31 - 1)`` for each row; int64."""
    state = (seed ^ 0x5DEECE66D) & _MASK
    factors: list[int] = []
    while len(factors) < depth:
        state = (state * 0x5DEECE66D + 0xB) & _MASK
        if state >> 17 != _PRIME:
            factors.append(state >> 17)
    return np.array(factors, dtype=np.int64)


@kernel
def add_numbers(
    groups: Int64Array, data: Int64Array, bitmap: UInt8Array, skip: int, factors: Int64Array, width: int,
    words: Int64Array,
) -> None:  # fmt: skip
    """Count the values of ``data``, int64."""
    size = 1 + factors.size * width
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            at = groups[row] * size
            words[at] += 1
            for i in range(factors.size):
                hashed = factors[i] * data[row]
                hashed += hashed >> 32
                words[at + 1 + i * width + (hashed & _PRIME) % width] += 1


@kernel
def add_hashes(
    groups: Int64Array, first: Int32Array, second: Int32Array, bitmap: UInt8Array, skip: int, depth: int, width: int,
    words: Int64Array,
) -> None:  # fmt: skip
    """Count values by two hashes of each, int32."""
    size = 1 + depth * width
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            at = groups[row] * size
            words[at] += 1
            for i in range(depth):
                mixed = np.int64(np.int32((np.int64(first[row]) + i * np.int64(second[row])) & 0xFFFFFFFF))
                words[at + 1 + i * width + abs(mixed) % width] += 1


def write_sketches(words: Int64Array, factors: Int64Array, width: int) -> tuple[int, UInt8Array]:
    """Return the size of a serialized sketch and the bytes of those of all groups."""
    depth = factors.size
    counts = words.reshape(-1, 1 + depth * width)
    head = 20 + 8 * depth
    data = allocate(counts.shape[0] * (head + 8 * depth * width), np.uint8).reshape(counts.shape[0], -1)
    data[:, :4] = np.frombuffer(np.array(_VERSION, dtype=">i4").tobytes(), dtype=np.uint8)
    data[:, 4:12] = _bytes_of(counts[:, :1])
    data[:, 12:20] = np.frombuffer(np.array([depth, width], dtype=">i4").tobytes(), dtype=np.uint8)
    data[:, 20:head] = np.frombuffer(factors.astype(">i8").tobytes(), dtype=np.uint8)
    data[:, head:] = _bytes_of(counts[:, 1:])
    return data.shape[1], data.reshape(-1)


def _bytes_of(numbers: Int64Array) -> UInt8Array:
    made: UInt8Array = np.ascontiguousarray(numbers.astype(">i8")).view(np.uint8)
    return made


def read_sketches(data: UInt8Array, rows: int, depth: int, width: int) -> Int64Array:
    """Return the counts of serialized sketches, shape (rows, 1 + depth · width)."""
    sketches = data.reshape(rows, -1)
    head = 20 + 8 * depth
    total = np.ascontiguousarray(sketches[:, 4:12]).view(">i8")
    table = np.ascontiguousarray(sketches[:, head:]).view(">i8")
    counts: Int64Array = np.concatenate([total, table], axis=1).astype(np.int64)
    return counts
