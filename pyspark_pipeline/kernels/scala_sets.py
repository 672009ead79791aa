"""The order in which a mutable hash set of Scala 2.13 returns its elements.

The set has a table of chains. An element is in the chain of the lowest bits of its hash; a chain is in the order of the
hashes, as signed integers, and equal hashes are in the order of insertion. The size of the table is a power of two
that depends on how the set was filled. The hash of a number is that of Scala (``##``), by which equal numbers of
different types have equal hashes.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import Array, Int32Array, Int64Array
from pyspark_pipeline.kernels.murmur3 import hash_rows

_LEAST_CHAINS = 16
_LOAD = 0.75


def count_chains(sizes: Int64Array) -> Int64Array:
    """Return the number of chains of sets that began empty, and to which sets of ``sizes`` elements at most were added.

    A set makes room for those it is added, without those it has.
    """
    wanted = np.maximum(((sizes + 1) / _LOAD).astype(np.int64) - 1, _LEAST_CHAINS // 2)
    chains: Int64Array = np.int64(2) << np.frexp(wanted.astype(np.float64))[1].astype(np.int64) - 1
    return np.minimum(chains, 1 << 30)


def set_order(owners: Int64Array, hashes: Int32Array, chains: Int64Array) -> Int64Array:
    """Return the elements of sets in the order of the sets and, in each, of its iteration.

    ``owners`` (int64) are the sets of the elements, which are in the order of insertion; ``chains`` (int64) are those
    of all sets.
    """
    mixed = hashes ^ (hashes.view(np.uint32) >> np.uint32(16)).view(np.int32)
    firsts = np.cumsum(chains) - chains
    chain = firsts[owners] + (mixed & (chains[owners] - 1))
    order: Int64Array = np.argsort((chain << 32) + mixed, kind="stable")
    return order


def hash_longs(numbers: Array) -> Int32Array:
    """Hash integers of up to 64 bits; int32."""
    wide = numbers.astype(np.int64)
    low = wide.astype(np.int32)
    return np.where(low == wide, low, (wide ^ (wide >> 32)).astype(np.int32))


def hash_floating(numbers: Array) -> Int32Array:
    """Hash doubles or floats; int32. Equal integers, floats and doubles have one hash."""
    whole = _cast(numbers, np.int32)
    wide = _cast(numbers, np.int64)
    hashes = _hash_bits(numbers)
    if numbers.dtype == np.float64:
        with np.errstate(over="ignore", invalid="ignore"):
            narrow = numbers.astype(np.float32)
        hashes = np.where(narrow == numbers, _hash_bits(narrow), hashes)
    hashes = np.where(wide.astype(numbers.dtype) == numbers, (wide ^ (wide >> 32)).astype(np.int32), hashes)
    return np.where(whole.astype(numbers.dtype) == numbers, whole, hashes)


def _cast(numbers: Array, kind: type[np.signedinteger]) -> Array:
    """Return integers as Java casts to them: the nearest there is, 0 of NaN."""
    bounds = np.iinfo(kind)
    is_high, is_low = numbers >= -float(bounds.min), numbers < float(bounds.min)
    cast: Array = np.where(is_high | is_low | np.isnan(numbers), 0, numbers).astype(kind)
    cast[is_high], cast[is_low] = bounds.max, bounds.min
    return cast


def _hash_bits(numbers: Array) -> Int32Array:
    """Hash numbers as Java does, by their bits; all NaNs have one hash."""
    plain = np.where(np.isnan(numbers), numbers.dtype.type(np.nan), numbers)
    if plain.dtype == np.float32:
        return plain.view(np.int32)
    words = plain.view(np.int64)
    return (words ^ (words >> 32)).astype(np.int32)


def hash_texts(column: pa.Array) -> Int32Array:
    """Hash strings or bytes, as Spark's strings and arrays are hashed; int32."""
    return hash_rows([column], len(column)).view(np.int32)


def hash_scaled(unscaled: Int64Array, scales: Int64Array) -> Int32Array:
    """Hash decimals that no double prints, which are ``unscaled`` (not divisible by 10) with ``scales``; int32."""
    size = np.abs(unscaled).view(np.uint64)
    high, low = (size >> np.uint64(32)).astype(np.uint32), size.astype(np.uint32)
    digits = (high * np.uint32(31) + low) * np.sign(unscaled).astype(np.int32).view(np.uint32)
    mixed = scales.astype(np.uint32) * np.uint32(0xCC9E2D51)
    mixed = (mixed << np.uint32(15)) | (mixed >> np.uint32(17))
    hashes: Int32Array = (digits ^ (mixed * np.uint32(0x1B873593))).view(np.int32)
    return hashes
