"""Approximate membership filters of the keys of a join table, which are faster than a lookup in the table.

A *bitmap* is exact, with one bit for every number of the key range; it is the filter of tables that know these bits,
unless it would be large and larger than the other form. That is a *blocked bloom filter*: a key has three bits in one
64-bit word, so that a probe reads one cache line; with 16 to 32 bits per key, one row in a hundred is a false positive.
A random lookup in a hash table costs 10 to 36 ns, in a bloom filter 2 ns.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import Array, Int64Array, UInt8Array, UInt64Array
from pyspark_pipeline.kernels.buffers import NO_BITS, allocate_zeros
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.join_keys import KeyReader
from pyspark_pipeline.kernels.join_table import JoinTable
from pyspark_pipeline.kernels.murmur3 import is_valid
from pyspark_pipeline.kernels.tagged_slots import equal_words, hash_words

_BITS_PER_KEY = 16
#: Numbers of a range whose bitmap is small.
_SMALL_RANGE = 1 << 23


@kernel(forceinline=True)
def _bits_of(mixed: np.uint64) -> np.uint64:
    """Return the three bits of a key's hash; the upper bits of the hash select the word.

    The upper half is mixed in: keys that differ only in upper bits, such as integral doubles, have equal lower bits.
    """
    one = np.uint64(1)
    lower = mixed ^ (mixed >> np.uint64(32))
    first = one << (lower & np.uint64(63))
    second = one << ((lower >> np.uint64(6)) & np.uint64(63))
    return first | second | (one << ((lower >> np.uint64(12)) & np.uint64(63)))


@kernel
def _fill(keys: Int64Array, width: int, bitmap: UInt8Array, skip: int, words: UInt64Array, shift: int) -> None:
    """Insert the valid keys of ``width`` words."""
    for row in range(keys.size // width):
        if is_valid(bitmap, skip, row):
            mixed = hash_words(keys, width, row)
            words[mixed >> np.uint64(shift)] |= _bits_of(mixed)


@kernel
def _keep_in_bloom(
    keys: Int64Array, width: int, bitmap: UInt8Array, skip: int, words: UInt64Array, shift: int, mask: UInt8Array
) -> int:
    """Clear the mask of the rows whose key was not inserted or is NULL; return the number of rows still selected.

    A row that is not selected is not looked up, nor one whose key is that of the last row that was.
    """
    kept = 0
    last, found = np.int64(-1), np.uint8(0)
    for row in range(mask.size):
        if mask[row] == 0:
            continue
        if not is_valid(bitmap, skip, row):
            mask[row] = 0
            continue
        if last < 0 or not equal_words(keys, row, keys, last, width):
            mixed = hash_words(keys, width, row)
            wanted = _bits_of(mixed)
            found = np.uint8((words[mixed >> np.uint64(shift)] & wanted) == wanted)
            last = row
        mask[row] = found
        kept += found
    return kept


@kernel
def _keep_in_bitmap(
    keys: Int64Array, bitmap: UInt8Array, skip: int, low: np.uint64, size: np.uint64, found: UInt8Array,
    mask: UInt8Array,
) -> int:  # fmt: skip
    """Clear the mask of the rows whose key has no bit or is NULL; return the number of rows still selected.

    ``found``: ``size`` bits by key − low, and at least one more that is 0.
    """
    kept = 0
    for row in range(mask.size):
        at = min(np.uint64(keys[row]) - low, size)
        kept_row = (found[at >> np.uint64(3)] >> np.uint8(at & np.uint64(7))) & np.uint8(1)
        if not is_valid(bitmap, skip, row):
            kept_row = np.uint8(0)
        mask[row] &= kept_row
        kept += mask[row]
    return kept


class KeyFilter:
    """The keys of a table. Immutable: any number of threads may use it, each through a :class:`KeyFilterProbe`."""

    def __init__(self, table: JoinTable) -> None:
        self.keys = table.keys
        self.low = np.uint64(table.keys.low & (2**64 - 1))
        self.size = np.uint64(0)
        self.shift = 0
        size = 1 << max(4, (_BITS_PER_KEY * table.valid_rows // 64).bit_length())
        taken = table.key_bits() if table.keys.range_size <= max(64 * size, _SMALL_RANGE) else None
        self.is_exact = taken is not None
        if taken is not None:
            self.size = np.uint64(table.keys.range_size)
            self.words: Array = np.append(taken, np.uint8(0))
        else:
            self._make_bloom(table, size)

    def _make_bloom(self, table: JoinTable, size: int) -> None:
        self.shift = 64 - (size.bit_length() - 1)
        self.words = allocate_zeros(size, np.uint64)
        if table.mode == "words":
            _fill(table.keys.keys, table.keys.width, *table.keys.bits, self.words, self.shift)
        else:
            _fill(table.distinct_keys(), 1, NO_BITS, 0, self.words, self.shift)

    @property
    def nbytes(self) -> int:
        """Bytes held besides the table's own."""
        return self.words.nbytes


class KeyFilterProbe:
    """Selects the rows of one thread's chunks."""

    def __init__(self, filter_: KeyFilter) -> None:
        self._filter = filter_
        self._reader = KeyReader(filter_.keys)

    def keep(self, columns: Sequence[pa.Array], mask: UInt8Array) -> int:
        """Clear ``mask`` (uint8, shape (rows,)) for rows whose key is not in the table; return the number selected."""
        filter_ = self._filter
        data, bits = self._reader.read(columns, mask.size)
        if filter_.is_exact:
            return int(_keep_in_bitmap(data, *bits, filter_.low, filter_.size, filter_.words, mask))
        return int(_keep_in_bloom(data, filter_.keys.width, *bits, filter_.words, filter_.shift, mask))
