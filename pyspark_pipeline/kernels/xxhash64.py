"""Spark's xxHash64 of rows, ``xxhash64(...)``: columns are folded in order, NULL leaves the hash unchanged.

Follows ``HashExpression``/``XxHash64Function`` and catalyst's ``XXH64``, which is the xxHash64 of the specification.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import Int32Array, Int64Array, UInt8Array, UInt64Array
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.murmur3 import is_valid
from pyspark_pipeline.kernels.row_hash import RowHash, shortest_bytes

_PRIME_1 = np.uint64(0x9E3779B185EBCA87)
_PRIME_2 = np.uint64(0xC2B2AE3D27D4EB4F)
_PRIME_3 = np.uint64(0x165667B19E3779F9)
_PRIME_4 = np.uint64(0x85EBCA77C2B2AE63)
_PRIME_5 = np.uint64(0x27D4EB2F165667C5)


@kernel(forceinline=True)
def _rotated(word: np.uint64, by: int) -> np.uint64:
    return (word << np.uint64(by)) | (word >> np.uint64(64 - by))


@kernel(forceinline=True)
def _round(state: np.uint64, word: np.uint64) -> np.uint64:
    return _rotated(state + word * _PRIME_2, 31) * _PRIME_1


@kernel(forceinline=True)
def _mix_long(h: np.uint64, word: np.uint64) -> np.uint64:
    return _rotated(h ^ _round(np.uint64(0), word), 27) * _PRIME_1 + _PRIME_4


@kernel(forceinline=True)
def _mix_int(h: np.uint64, word: np.uint64) -> np.uint64:
    return _rotated(h ^ (word * _PRIME_1), 23) * _PRIME_2 + _PRIME_3


@kernel(forceinline=True)
def _finish(h: np.uint64) -> np.uint64:
    h = (h ^ (h >> np.uint64(33))) * _PRIME_2
    h = (h ^ (h >> np.uint64(29))) * _PRIME_3
    return h ^ (h >> np.uint64(32))


@kernel(forceinline=True)
def _hash_int(value: int, seed: np.uint64) -> np.uint64:
    return _finish(_mix_int(seed + _PRIME_5 + np.uint64(4), np.uint64(np.uint32(value))))


@kernel(forceinline=True)
def _hash_long(value: int, seed: np.uint64) -> np.uint64:
    return _finish(_mix_long(seed + _PRIME_5 + np.uint64(8), np.uint64(value)))


@kernel(forceinline=True)
def _int_at(data: UInt8Array, at: np.uint64) -> np.uint64:
    """Read four bytes, little-endian; unsigned places never wrap around, so the four reads become one."""
    word = np.uint64(data[at]) | (np.uint64(data[at + np.uint64(1)]) << np.uint64(8))
    word = word | (np.uint64(data[at + np.uint64(2)]) << np.uint64(16))
    return word | (np.uint64(data[at + np.uint64(3)]) << np.uint64(24))


@kernel(forceinline=True)
def _long_at(data: UInt8Array, at: np.uint64) -> np.uint64:
    return _int_at(data, at) | (_int_at(data, at + np.uint64(4)) << np.uint64(32))


@kernel(forceinline=True)
def _merged(h: np.uint64, state: np.uint64) -> np.uint64:
    return (h ^ _round(np.uint64(0), state)) * _PRIME_1 + _PRIME_4


@kernel
def _hash_stripes(data: UInt8Array, start: int, stripes: int, seed: np.uint64) -> np.uint64:
    """Hash ``stripes`` (at least one) of 32 bytes."""
    first = seed + _PRIME_1 + _PRIME_2
    second = seed + _PRIME_2
    third = seed
    fourth = seed - _PRIME_1
    at = np.uint64(start)
    for _ in range(stripes):
        first = _round(first, _long_at(data, at))
        second = _round(second, _long_at(data, at + np.uint64(8)))
        third = _round(third, _long_at(data, at + np.uint64(16)))
        fourth = _round(fourth, _long_at(data, at + np.uint64(24)))
        at += np.uint64(32)
    h = _rotated(first, 1) + _rotated(second, 7) + _rotated(third, 12) + _rotated(fourth, 18)
    return _merged(_merged(_merged(_merged(h, first), second), third), fourth)


@kernel(forceinline=True)
def _hash_bytes(data: UInt8Array, start: int, end: int, seed: np.uint64) -> np.uint64:
    length = end - start
    stripes = length // 32
    h = _hash_stripes(data, start, stripes, seed) if stripes else seed + _PRIME_5
    h += np.uint64(length)
    at = start + 32 * stripes
    while at + 8 <= end:
        h = _mix_long(h, _long_at(data, np.uint64(at)))
        at += 8
    if at + 4 <= end:
        h = _mix_int(h, _int_at(data, np.uint64(at)))
        at += 4
    for i in range(at, end):
        h = _rotated(h ^ (np.uint64(data[i]) * _PRIME_5), 11) * _PRIME_1
    return _finish(h)


@kernel
def _fold_ints(data: Int32Array, bitmap: UInt8Array, skip: int, hashes: UInt64Array) -> None:
    for row in range(hashes.size):
        if is_valid(bitmap, skip, row):
            hashes[row] = _hash_int(data[row], hashes[row])


@kernel
def _fold_longs(data: Int64Array, bitmap: UInt8Array, skip: int, hashes: UInt64Array) -> None:
    for row in range(hashes.size):
        if is_valid(bitmap, skip, row):
            hashes[row] = _hash_long(data[row], hashes[row])


@kernel
def _fold_long_lists(
    offsets: Int32Array,
    bitmap: UInt8Array,
    skip: int,
    data: Int64Array,
    bits: UInt8Array,
    bits_skip: int,
    hashes: UInt64Array,
) -> None:
    for row in range(hashes.size):
        if is_valid(bitmap, skip, row):
            folded = hashes[row]
            for place in range(offsets[row], offsets[row + 1]):
                if is_valid(bits, bits_skip, place):
                    folded = _hash_long(data[place], folded)
            hashes[row] = folded


@kernel
def _fold_bools(data: UInt8Array, data_skip: int, bitmap: UInt8Array, skip: int, hashes: UInt64Array) -> None:
    for row in range(hashes.size):
        if is_valid(bitmap, skip, row):
            hashes[row] = _hash_int(np.int32(is_valid(data, data_skip, row)), hashes[row])


@kernel
def _fold_small_decimals(words: Int64Array, bitmap: UInt8Array, skip: int, hashes: UInt64Array) -> None:
    for row in range(hashes.size):
        if is_valid(bitmap, skip, row):
            hashes[row] = _hash_long(words[2 * row], hashes[row])


@kernel
def _fold_big_decimals(words: Int64Array, bitmap: UInt8Array, skip: int, hashes: UInt64Array) -> None:
    text = np.empty(16, dtype=np.uint8)
    for row in range(hashes.size):
        if is_valid(bitmap, skip, row):
            first = shortest_bytes(words[2 * row], words[2 * row + 1], text)
            hashes[row] = _hash_bytes(text, first, 16, hashes[row])


@kernel
def _fold_strings(offsets: Int32Array, data: UInt8Array, bitmap: UInt8Array, skip: int, hashes: UInt64Array) -> None:
    for row in range(hashes.size):
        if is_valid(bitmap, skip, row):
            hashes[row] = _hash_bytes(data, offsets[row], offsets[row + 1], hashes[row])


_HASH = RowHash(
    dtype=np.dtype(np.uint64),
    ints=_fold_ints,
    longs=_fold_longs,
    long_lists=_fold_long_lists,
    booleans=_fold_bools,
    small_decimals=_fold_small_decimals,
    big_decimals=_fold_big_decimals,
    strings=_fold_strings,
)


def xxhash64_rows(columns: Sequence[pa.Array], rows: int, seed: int) -> Int64Array:
    """Hash every row over ``columns`` as Spark's ``xxhash64(...)`` does (with seed 42); int64, shape (rows,)."""
    return _HASH.rows(columns, rows, seed & 0xFFFFFFFFFFFFFFFF).view(np.int64)
