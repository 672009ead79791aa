"""Which rows of a chunk may have their key in a join's table, answered faster than by the table itself.

A *bitmap* where the table is direct: a bit for every number in its range, exact. Else a *blocked bloom filter*: a
key has three bits in one word of 64, so that one cache line answers; with 16 to 32 bits a key one row in a hundred
passes wrongly. Looking a key up in a sparse table costs 10 to 36 ns at random, in a bloom filter 2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.buffers import NO_BITS, Array, allocate_zeros
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.join_keys import KeyReader
from pyspark_pipeline.kernels.join_table import JoinTable
from pyspark_pipeline.kernels.murmur3 import is_valid
from pyspark_pipeline.kernels.tagged_slots import hash_words

_BITS_PER_KEY = 16


@kernel(forceinline=True)
def _bits_of(mixed):  # type: ignore[no-untyped-def]
    """Give the three bits of a key's hash; its upper bits choose the word.

    Keys that differ in their upper bits only, as whole doubles do, have hashes with the same lower bits.
    """
    one = np.uint64(1)
    lower = mixed ^ (mixed >> np.uint64(32))
    first = one << (lower & np.uint64(63))
    second = one << ((lower >> np.uint64(6)) & np.uint64(63))
    return first | second | (one << ((lower >> np.uint64(12)) & np.uint64(63)))


@kernel
def _fill(keys, width, bitmap, skip, words, shift):  # type: ignore[no-untyped-def]
    """Enter the keys of ``width`` words that are valid."""
    for row in range(keys.size // width):
        if is_valid(bitmap, skip, row):
            mixed = hash_words(keys, width, row)
            words[mixed >> np.uint64(shift)] |= _bits_of(mixed)


@kernel
def _keep_in_bloom(keys, width, bitmap, skip, words, shift, marks):  # type: ignore[no-untyped-def]
    """Unmark the rows whose key was not entered, or is NULL; give the number of rows still marked."""
    kept = 0
    for row in range(marks.size):
        mark = np.uint8(0)
        if is_valid(bitmap, skip, row):
            mixed = hash_words(keys, width, row)
            wanted = _bits_of(mixed)
            mark = np.uint8((words[mixed >> np.uint64(shift)] & wanted) == wanted)
        marks[row] &= mark
        kept += marks[row]
    return kept


@kernel
def _keep_in_bitmap(keys, bitmap, skip, low, size, found, marks):  # type: ignore[no-untyped-def]
    """Unmark the rows whose key has no bit, or is NULL; give the number of rows still marked.

    ``found``: ``size`` bits by key − low, and at least one more that is 0.
    """
    kept = 0
    for row in range(marks.size):
        at = min(np.uint64(keys[row]) - low, size)
        mark = (found[at >> np.uint64(3)] >> np.uint8(at & np.uint64(7))) & np.uint8(1)
        if not is_valid(bitmap, skip, row):
            mark = np.uint8(0)
        marks[row] &= mark
        kept += marks[row]
    return kept


class KeyFilter:
    """The keys of a table. Never changes: any number of threads may use it, each through a :class:`KeyMarker`."""

    def __init__(self, table: JoinTable) -> None:
        self.keys = table.keys
        self.low = np.uint64(table.keys.low & (2**64 - 1))
        self.size = np.uint64(0)
        self.shift = 0
        self.is_exact = table.mode == "direct"
        if self.is_exact:
            self.size = np.uint64(table.keys.numbers)
            taken = np.packbits(table.slots >= 0, bitorder="little")
            self.words: Array = np.append(taken, np.uint8(0))
        else:
            self._make_bloom(table)

    def _make_bloom(self, table: JoinTable) -> None:
        size = 1 << max(4, (_BITS_PER_KEY * table.valid_rows // 64).bit_length())
        self.shift = 64 - (size.bit_length() - 1)
        self.words = allocate_zeros(size, np.uint64)
        if table.mode == "words":
            _fill(table.keys.keys, table.keys.width, *table.keys.bits, self.words, self.shift)
        else:
            _fill(table.word_keys(), 1, NO_BITS, 0, self.words, self.shift)

    @property
    def nbytes(self) -> int:
        """Bytes held besides the table's own."""
        return self.words.nbytes


class KeyMarker:
    """Marks the rows of one thread's chunks."""

    def __init__(self, filter_: KeyFilter) -> None:
        self._filter = filter_
        self._reader = KeyReader(filter_.keys)

    def keep(self, columns: Sequence[pa.Array], marks: Array) -> int:
        """Unmark (uint8, shape (rows,)) the rows whose key is not in the table; give the number still marked."""
        filter_ = self._filter
        data, bits = self._reader.read(columns, marks.size)
        if filter_.is_exact:
            return int(_keep_in_bitmap(data, *bits, filter_.low, filter_.size, filter_.words, marks))
        return int(_keep_in_bloom(data, filter_.keys.width, *bits, filter_.words, filter_.shift, marks))
