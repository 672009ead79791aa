"""The hash table of a join: built once from the keys of all build rows, then immutable and probed by many threads.

The keys (:mod:`~.join_keys`) determine the mode: *direct* if a key is one number of a range not much larger
than the number of rows, *ranked* if the range is larger, but has no more than :data:`RANKED_PER_ROW` numbers a row,
*word* for any other number, *words* for several; *all* without key columns: every row matches every row. A build row
with a NULL in its key is never found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.errors import ResourceExhaustedError
from pyspark_pipeline.kernels.arrays import Array, Bitmap, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.buffers import NO_BITS, allocate, allocate_zeros, copied
from pyspark_pipeline.kernels.join_index import (
    find_direct,
    find_ranked,
    find_word,
    find_words,
    insert_direct,
    insert_ranked,
    insert_word,
    insert_words,
    ranked_numbers,
)
from pyspark_pipeline.kernels.join_keys import JoinKeys, KeyReader
from pyspark_pipeline.kernels.join_pairs import count_pairs, expand_pairs, list_rows, matched_pairs

MAX_ROWS = 2**31 - 2
SMALL_DIRECT = 1 << 16
LARGE_DIRECT = 1 << 21
DIRECT_PER_ROW = 8
RANKED_PER_ROW = 64
#: Bytes of a row's entry, and of its offset and number in the row lists; …
_ROW_BYTES = 12
#: … bytes of a slot of the hash table.
_SLOT_BYTES = 16
THIN_DIRECT_PER_ROW = 64
_WORD = 2**64 - 1
_EMPTY: Int32Array = np.empty(0, dtype=np.int32)
_NO_KEYS: Int64Array = np.empty(0, dtype=np.int64)


class JoinTable:
    """The build rows by key. ``columns``: for every key column its chunks; ``rows``: the number of build rows.

    ``is_unique``: keys are unique, so the entry of a key is its only row. ``lists`` False: the table has no row lists;
    it supports only existence tests, not :meth:`pairs`. ``distinct``: the number of distinct keys; ``slots``: their
    slots, in the layout of the ``mode`` (:mod:`~.join_index`). The constructor raises
    :class:`ResourceExhaustedError` for more than 2**31 − 2 rows, TypeError for a type that cannot be a key.
    """

    def __init__(
        self, types: Sequence[pa.DataType], columns: Sequence[Sequence[pa.Array]], rows: int, *, lists: bool = True
    ) -> None:
        if rows > MAX_ROWS:
            raise ResourceExhaustedError(f"the build side of a join has {rows} rows; a table holds {MAX_ROWS}")
        self.rows = rows
        self.keys = JoinKeys(types, columns, rows)
        self.valid_rows = self.keys.valid_rows
        self._shift = 0
        self.slots: Array = _EMPTY
        self._firsts: Int32Array = _EMPTY
        self._offsets: Int32Array = _EMPTY
        self._list: Int32Array = _EMPTY
        self.mode = self._choose_mode()
        entries = allocate(rows, np.int32)
        self.distinct = self._insert(entries)
        self.is_unique = self.distinct == self.valid_rows
        if lists and not self.is_unique:
            self._offsets = allocate_zeros(rows + 1, np.int32)
            self._list = allocate(self.valid_rows, np.int32)
            list_rows(entries, self._offsets, self._list)
        if self.mode != "words":
            self.keys.keys = np.empty(0, dtype=np.int64)

    @property
    def has_nulls(self) -> bool:
        """Whether some build row has a NULL in its key."""
        return self.valid_rows < self.rows

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        held = (self.slots, self._firsts, self._offsets, self._list, self.keys.keys)
        return sum(part.nbytes for part in held) + self.keys.nbytes

    def _choose_mode(self) -> str:
        keys = self.keys
        if not keys.columns:
            return "all"
        if keys.width > 1:
            return "words"
        if keys.range_size <= _max_direct_slots(self.valid_rows):
            return "direct"
        return "ranked" if keys.range_size <= RANKED_PER_ROW * self.valid_rows else "word"

    def _insert(self, entries: Int32Array) -> int:
        """Insert all build rows; write the entry of each; return the number of distinct keys."""
        keys = self.keys
        if self.mode == "all":
            entries[:] = 0
            return min(self.rows, 1)
        if self.mode == "direct":
            self.slots = allocate(keys.range_size, np.int32)
            self.slots[:] = -1
            return int(insert_direct(keys.keys, *keys.bits, self._low, self.slots, entries))
        if self.mode == "ranked":
            self.slots = allocate_zeros(2 * (keys.range_size // 64 + 1), np.uint64)
            firsts = allocate(self.valid_rows, np.int32)
            distinct = int(insert_ranked(keys.keys, *keys.bits, self._low, self.slots, firsts, entries))
            self._firsts = firsts if distinct == firsts.size else copied(firsts[:distinct])
            return distinct
        size = _hash_slots(self.valid_rows)
        log = size.bit_length() - 1
        if self.mode == "word":
            self.slots = allocate(2 * size, np.int64)
            self.slots[1::2] = -1
            self._shift = 64 + 2 - log
            return int(insert_word(keys.keys, *keys.bits, self.slots, self._shift, entries))
        self.slots = allocate_zeros(size, np.int64)
        self._shift = 64 - log
        return int(insert_words(keys.keys, keys.width, *keys.bits, self.slots, self._shift, entries))

    @property
    def _low(self) -> np.uint64:
        made: np.uint64 = np.uint64(self.keys.low & _WORD)
        return made

    def key_bits(self) -> UInt8Array | None:
        """Return a bit for every number of the key range, uint8, the first in the lowest; None if it is not known."""
        if self.mode == "direct":
            return np.packbits(self.slots >= 0, bitorder="little")
        return np.ascontiguousarray(self.slots[::2]).view(np.uint8) if self.mode == "ranked" else None

    def distinct_keys(self) -> Int64Array:
        """Return the distinct keys of a table of keys of one word: int64, unordered."""
        if self.mode == "direct":
            found: Int64Array = np.flatnonzero(self.slots >= 0) + self.keys.low
            return found
        if self.mode == "ranked":
            numbers = allocate(self.distinct, np.int64)
            ranked_numbers(self.slots, numbers)
            return numbers + self.keys.low
        taken: Int64Array = np.ascontiguousarray(self.slots[::2][self.slots[1::2] >= 0])
        return taken

    def key_values(self, column: int, max_keys: int) -> Int64Array | None:
        """Return the distinct values of key column ``column``, ascending, as :mod:`~.key_columns` encodes them.

        None if there are more than ``max_keys`` keys, or if a key is several words.
        """
        if self.distinct > max_keys or self.mode not in ("direct", "ranked", "word"):
            return None
        return self.keys.values_of(column, self.distinct_keys())

    def find(self, keys: Int64Array, bits: Bitmap, rows: int) -> tuple[Int32Array, int]:
        """Return the entry of every probe row (int32, −1: none) and the number of rows that have one."""
        entries = allocate(rows, np.int32)
        if self.mode == "direct":
            return entries, int(find_direct(keys, *bits, self._low, self.slots, entries))
        if self.mode == "ranked":
            return entries, int(find_ranked(keys, *bits, self._low, self.slots, self._firsts, entries))
        if self.mode == "word":
            return entries, int(find_word(keys, *bits, self.slots, self._shift, entries))
        if self.mode == "words":
            built = self.keys
            found = find_words(keys, built.width, *bits, self.slots, self._shift, built.keys, entries)
            return entries, int(found)
        entries[:] = 0 if self.rows else -1
        return entries, rows if self.rows else 0

    def pairs(
        self, entries: Int32Array, found: int, *, keeps_unmatched: bool, max_pairs: int
    ) -> Iterator[tuple[Int32Array, Int32Array]]:
        """Yield batches of pairs of probe row and build row, int32, in order of the probe rows.

        A batch has at most ``max_pairs`` pairs; if the table is unique, the only batch has at most one pair per probe
        row. ``keeps_unmatched``: a probe row without a match is paired once, with build row −1.
        """
        if self.is_unique:
            if keeps_unmatched:
                yield np.arange(entries.size, dtype=np.int32), entries
            elif found:
                probe, build = allocate(found + 1, np.int32), allocate(found + 1, np.int32)
                matched_pairs(entries, probe, build)
                yield probe[:found], build[:found]
            return
        remaining = int(count_pairs(entries, self._offsets, keeps_unmatched))
        row, within = 0, 0
        while remaining:
            size = min(remaining, max_pairs)
            probe, build = allocate(size, np.int32), allocate(size, np.int32)
            row, within = expand_pairs(
                entries, self._offsets, self._list, keeps_unmatched, row, within, probe, build
            )
            remaining -= size
            yield probe, build


def _max_direct_slots(rows: int) -> int:
    """Return the maximum number of slots of a direct table: it is faster than a hash table of the same memory.

    Even a sparse direct table is faster if it is not too large for the processor's cache.
    """
    thin = min(THIN_DIRECT_PER_ROW * rows, LARGE_DIRECT)
    return max(SMALL_DIRECT, DIRECT_PER_ROW * rows, thin)


def _hash_slots(rows: int) -> int:
    """Return the number of slots of a hash table of ``rows`` keys: a power of two, of which at most half are used."""
    return 1 << max(4, (2 * rows).bit_length())


def max_index_bytes(rows: int) -> int:
    """Return an upper bound of the bytes of a table of ``rows`` rows, without their keys."""
    return _ROW_BYTES * rows + max(_SLOT_BYTES * _hash_slots(rows), 4 * _max_direct_slots(rows))


class JoinProber:
    """Probes a table with the chunks of one thread."""

    def __init__(self, table: JoinTable) -> None:
        self._table = table
        self._reader = KeyReader(table.keys)

    def find(self, keys: Sequence[pa.Array], rows: int) -> tuple[Int32Array, int]:
        """Return the entry of every row of the key columns (int32, −1: none) and the number of rows that have one."""
        if not keys:
            return self._table.find(_NO_KEYS, (NO_BITS, 0), rows)
        return self._table.find(*self._reader.read(keys, rows), rows)
