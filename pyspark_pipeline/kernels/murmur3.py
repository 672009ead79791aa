"""Spark's Murmur3 hash of rows: seed 42, columns are folded in order, NULL leaves the hash unchanged.

Follows ``HashExpression``/``Murmur3HashFunction`` and ``Murmur3_x86_32.hashUnsafeBytes``, whose tail hashes
every byte as a sign-extended int (not the reference Murmur3). The ``HashPartitioning`` that a plan declares
is correct only because this hash is exact.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import Int32Array, Int64Array, UInt8Array, UInt32Array
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.row_hash import RowHash, shortest_bytes

SEED = 42


@kernel(forceinline=True)
def _mix_k(k: np.uint32) -> np.uint32:
    k = np.uint32(np.uint32(k) * np.uint32(0xCC9E2D51))
    k = np.uint32((k << np.uint32(15)) | (k >> np.uint32(17)))
    return np.uint32(k * np.uint32(0x1B873593))


@kernel(forceinline=True)
def _mix_h(h: np.uint32, k: np.uint32) -> np.uint32:
    h = np.uint32(h ^ k)
    h = np.uint32((h << np.uint32(13)) | (h >> np.uint32(19)))
    return np.uint32(h * np.uint32(5) + np.uint32(0xE6546B64))


@kernel(forceinline=True)
def _finish(h: np.uint32, length: int) -> np.uint32:
    h = np.uint32(h ^ np.uint32(length))
    h = np.uint32(h ^ (h >> np.uint32(16)))
    h = np.uint32(h * np.uint32(0x85EBCA6B))
    h = np.uint32(h ^ (h >> np.uint32(13)))
    h = np.uint32(h * np.uint32(0xC2B2AE35))
    return np.uint32(h ^ (h >> np.uint32(16)))


@kernel(forceinline=True)
def _hash_int(value: int, seed: np.uint32) -> np.uint32:
    return _finish(_mix_h(seed, _mix_k(np.uint32(value & 0xFFFFFFFF))), 4)


@kernel(forceinline=True)
def hash_long(value: int, seed: np.uint32) -> np.uint32:
    """Return ``Murmur3_x86_32.hashLong`` of an int64 as uint32; ``seed`` is uint32."""
    low = np.uint32(value & 0xFFFFFFFF)
    high = np.uint32((value >> 32) & 0xFFFFFFFF)
    return _finish(_mix_h(_mix_h(seed, _mix_k(low)), _mix_k(high)), 8)


@kernel(forceinline=True)
def is_valid(bitmap: UInt8Array, skip: int, row: int) -> bool:
    """Return whether bit ``skip + row`` is set; in an empty bitmap every bit is set."""
    if bitmap.size == 0:
        return True
    at = skip + row
    return (bitmap[at >> 3] >> (at & 7)) & 1 == 1


@kernel
def _fold_ints(data: Int32Array, bitmap: UInt8Array, skip: int, hashes: UInt32Array) -> None:
    for row in range(hashes.size):
        if is_valid(bitmap, skip, row):
            hashes[row] = _hash_int(np.int64(data[row]), hashes[row])


@kernel
def _fold_longs(data: Int64Array, bitmap: UInt8Array, skip: int, hashes: UInt32Array) -> None:
    for row in range(hashes.size):
        if is_valid(bitmap, skip, row):
            hashes[row] = hash_long(np.int64(data[row]), hashes[row])


@kernel
def _fold_long_lists(
    offsets: Int32Array,
    bitmap: UInt8Array,
    skip: int,
    data: Int64Array,
    bits: UInt8Array,
    bits_skip: int,
    hashes: UInt32Array,
) -> None:
    for row in range(hashes.size):
        if is_valid(bitmap, skip, row):
            folded = hashes[row]
            for place in range(offsets[row], offsets[row + 1]):
                if is_valid(bits, bits_skip, place):
                    folded = hash_long(data[place], folded)
            hashes[row] = folded


@kernel
def _fold_bools(data: UInt8Array, data_skip: int, bitmap: UInt8Array, skip: int, hashes: UInt32Array) -> None:
    for row in range(hashes.size):
        if is_valid(bitmap, skip, row):
            hashes[row] = _hash_int(np.int64(is_valid(data, data_skip, row)), hashes[row])


@kernel
def _fold_small_decimals(words: Int64Array, bitmap: UInt8Array, skip: int, hashes: UInt32Array) -> None:
    for row in range(hashes.size):
        if is_valid(bitmap, skip, row):
            hashes[row] = hash_long(words[2 * row], hashes[row])


@kernel
def _fold_big_decimals(words: Int64Array, bitmap: UInt8Array, skip: int, hashes: UInt32Array) -> None:
    text = np.empty(16, dtype=np.uint8)
    for row in range(hashes.size):
        if is_valid(bitmap, skip, row):
            first = shortest_bytes(words[2 * row], words[2 * row + 1], text)
            hashes[row] = _hash_bytes(text, first, 16, hashes[row])


@kernel(forceinline=True)
def _hash_bytes(data: UInt8Array, start: int, end: int, seed: np.uint32) -> np.uint32:
    """Hash the bytes ``start`` ≤ i < ``end``; unsigned indices never wrap around, so that four loads are combined."""
    h = seed
    at, stop, four = np.uint64(start), np.uint64(end), np.uint64(4)
    while at + four <= stop:
        word = np.uint32(data[at]) | (np.uint32(data[at + np.uint64(1)]) << np.uint32(8))
        word = word | (np.uint32(data[at + np.uint64(2)]) << np.uint32(16))
        word = word | (np.uint32(data[at + np.uint64(3)]) << np.uint32(24))
        h = _mix_h(h, _mix_k(np.uint32(word)))
        at += four
    while at < stop:
        h = _mix_h(h, _mix_k(np.uint32(np.int64(np.int8(data[at])) & 0xFFFFFFFF)))
        at += np.uint64(1)
    return _finish(h, end - start)


@kernel
def _fold_strings(offsets: Int32Array, data: UInt8Array, bitmap: UInt8Array, skip: int, hashes: UInt32Array) -> None:
    for row in range(hashes.size):
        if is_valid(bitmap, skip, row):
            hashes[row] = _hash_bytes(data, offsets[row], offsets[row + 1], hashes[row])


@kernel
def _pmod(hashes: UInt32Array, count: int, ids: Int32Array) -> None:
    """Compute remainders by a product with 1 / count, which is cheaper than a division and off by one at most."""
    inverse = 1.0 / count
    for row in range(hashes.size):
        value = np.int64(np.int32(hashes[row]))
        remainder = value - np.int64(np.floor(value * inverse)) * count
        if remainder < 0:
            remainder += count
        elif remainder >= count:
            remainder -= count
        ids[row] = remainder


@kernel
def _xorshift(hashes: UInt32Array, count: int, ids: Int32Array) -> None:
    for row in range(hashes.size):
        h = hashes[row]
        h = np.uint32(h ^ np.uint32(h << np.uint32(13)))
        h = np.uint32(h ^ (h >> np.uint32(17)))
        h = np.uint32(h ^ np.uint32(h << np.uint32(5)))
        ids[row] = np.int32((np.uint64(h) * np.uint64(count)) >> np.uint64(32))


_HASH = RowHash(
    dtype=np.dtype(np.uint32),
    ints=_fold_ints,
    longs=_fold_longs,
    long_lists=_fold_long_lists,
    booleans=_fold_bools,
    small_decimals=_fold_small_decimals,
    big_decimals=_fold_big_decimals,
    strings=_fold_strings,
)


def hash_rows(columns: Sequence[pa.Array], rows: int, seed: int = SEED) -> UInt32Array:
    """Hash every row over ``columns`` as Spark's ``hash(...)`` does; uint32, shape (rows,)."""
    return _HASH.rows(columns, rows, seed)


def partition_ids(hashes: UInt32Array, count: int) -> Int32Array:
    """Return Spark's ``pmod(hash, count)`` of every row: int32, shape (rows,)."""
    ids = allocate(hashes.size, np.int32)
    _pmod(hashes, count, ids)
    return ids


def driver_ids(hashes: UInt32Array, count: int) -> Int32Array:
    """Return the driver of every row, 0 ≤ driver < ``count``, decorrelated from its partition: int32, shape (rows,)."""
    ids = allocate(hashes.size, np.int32)
    _xorshift(hashes, count, ids)
    return ids
