"""A join's table: made once of the keys of all build rows, then immutable and looked up by many threads.

The keys decide the form (:mod:`~.join_keys`): *direct* where a key is a number out of a range not much larger
than the rows, *word* for any other number, *words*; and *all* without key columns, where every row meets every
row. A build row with a NULL in its key is never found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from pyspark_pipeline.errors import ResourceExhaustedError
from pyspark_pipeline.kernels.buffers import Array, allocate, allocate_zeros
from pyspark_pipeline.kernels.join_index import (
    enter_direct,
    enter_word,
    enter_words,
    find_direct,
    find_word,
    find_words,
)
from pyspark_pipeline.kernels.join_keys import Bits, JoinKeys, KeyReader
from pyspark_pipeline.kernels.join_pairs import count_pairs, expand_pairs, list_rows, matched_pairs

MOST_ROWS = 2**31 - 2
SMALL_DIRECT = 1 << 16
LARGE_DIRECT = 1 << 23
DIRECT_PER_ROW = 8
#: A row's entry, and its offset and number in a list; …
_ROW_BYTES = 12
#: … a slot of the hash table.
_SLOT_BYTES = 16
THIN_DIRECT_PER_ROW = 64
_WORD = 2**64 - 1
_NOTHING: Array = np.empty(0, dtype=np.int32)


class JoinTable:
    """The build rows by key. ``columns``: for every key column its chunks; ``rows``: how many build rows there are.

    ``is_unique``: no key is there twice, so the entry of a key is its only row. ``lists`` False: only whether a key
    is there will be asked, never for pairs. ``distinct``: the number of keys, ``slots``: where they are found, in
    the form of the ``mode`` (:mod:`~.join_index`). Raises
    :class:`ResourceExhaustedError` for more than 2**31 − 2 rows, TypeError for a type that cannot be a key.
    """

    def __init__(
        self, types: Sequence[pa.DataType], columns: Sequence[Sequence[pa.Array]], rows: int, *, lists: bool = True
    ) -> None:
        if rows > MOST_ROWS:
            raise ResourceExhaustedError(f"the build side of a join has {rows} rows; a table holds {MOST_ROWS}")
        self.rows = rows
        self.keys = JoinKeys(types, columns, rows)
        self.valid_rows = self.keys.valid_rows
        self._shift = 0
        self.slots: Array = _NOTHING
        self._offsets: Array = _NOTHING
        self._list: Array = _NOTHING
        self.mode = self._choose()
        entries = allocate(rows, np.int32)
        self.distinct = self._enter(entries)
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
        held = (self.slots, self._offsets, self._list, self.keys.keys)
        return sum(part.nbytes for part in held) + self.keys.nbytes

    def _choose(self) -> str:
        keys = self.keys
        if not keys.columns:
            return "all"
        if keys.width > 1:
            return "words"
        return "direct" if keys.numbers <= _most_numbers(self.valid_rows) else "word"

    def _enter(self, entries: Array) -> int:
        """Enter all build rows; write the entry of each; give the number of distinct keys."""
        keys = self.keys
        if self.mode == "all":
            entries[:] = 0
            return min(self.rows, 1)
        if self.mode == "direct":
            self.slots = allocate(keys.numbers, np.int32)
            self.slots[:] = -1
            return int(enter_direct(keys.keys, *keys.bits, self._low, self.slots, entries))
        size = _hash_slots(self.valid_rows)
        log = size.bit_length() - 1
        if self.mode == "word":
            self.slots = allocate(2 * size, np.int64)
            self.slots[1::2] = -1
            self._shift = 64 + 2 - log
            return int(enter_word(keys.keys, *keys.bits, self.slots, self._shift, entries))
        self.slots = allocate_zeros(size, np.int64)
        self._shift = 64 - log
        return int(enter_words(keys.keys, keys.width, *keys.bits, self.slots, self._shift, entries))

    @property
    def _low(self) -> np.uint64:
        made: np.uint64 = np.uint64(self.keys.low & _WORD)
        return made

    def word_keys(self) -> Array:
        """Give the distinct keys where one number is a key (*direct* and *word*); int64, in no order."""
        if self.mode == "direct":
            found: Array = np.flatnonzero(self.slots >= 0) + self.keys.low
            return found
        taken: Array = np.ascontiguousarray(self.slots[::2][self.slots[1::2] >= 0])
        return taken

    def key_values(self, place: int, most: int) -> Array | None:
        """Give the distinct values of key column ``place``, ascending, as :mod:`~.key_columns` makes them.

        None where there are more than ``most`` keys, or where a key is several words.
        """
        if self.distinct > most or self.mode not in ("direct", "word"):
            return None
        return self.keys.values_of(place, self.word_keys())

    def find(self, read: Array, bits: Bits, rows: int) -> tuple[Array, int]:
        """Give the entry of every probe row (int32, −1: none) and the number of rows that have one."""
        entries = allocate(rows, np.int32)
        if self.mode == "direct":
            return entries, int(find_direct(read, *bits, self._low, self.slots, entries))
        if self.mode == "word":
            return entries, int(find_word(read, *bits, self.slots, self._shift, entries))
        if self.mode == "words":
            keys = self.keys
            found = find_words(read, keys.width, *bits, self.slots, self._shift, keys.keys, entries)
            return entries, int(found)
        entries[:] = 0 if self.rows else -1
        return entries, rows if self.rows else 0

    def pairs(self, entries: Array, found: int, *, keeps_unmatched: bool, most: int) -> Iterator[tuple[Array, Array]]:
        """Give the pairs of probe row and build row, int32, in order of the probe rows.

        Pieces have at most ``most`` pairs, or at most one for each probe row where the table is unique.
        ``keeps_unmatched``: a probe row without a match comes once, with build row −1.
        """
        if self.is_unique:
            if keeps_unmatched:
                yield np.arange(entries.size, dtype=np.int32), entries
            elif found:
                probe, build = allocate(found + 1, np.int32), allocate(found + 1, np.int32)
                matched_pairs(entries, probe, build)
                yield probe[:found], build[:found]
            return
        left = int(count_pairs(entries, self._offsets, keeps_unmatched))
        row, within = 0, 0
        while left:
            size = min(left, most)
            probe, build = allocate(size, np.int32), allocate(size, np.int32)
            row, within = expand_pairs(
                entries, self._offsets, self._list, keeps_unmatched, row, within, probe, build
            )
            left -= size
            yield probe, build


def _most_numbers(rows: int) -> int:
    """Give how many possible keys an array may have a place for: it beats the hash table that takes as much memory.

    An array in which few places are taken still does while it is not too large for the processor's cache: its
    search has no branch, and keys come in some order more often than not.
    """
    thin = min(THIN_DIRECT_PER_ROW * rows, LARGE_DIRECT)
    return max(SMALL_DIRECT, DIRECT_PER_ROW * rows, thin)


def _hash_slots(rows: int) -> int:
    """Give the slots of a hash table of ``rows`` keys: a power of two, of which half are used at most."""
    return 1 << max(4, (2 * rows).bit_length())


def most_index_bytes(rows: int) -> int:
    """Give an upper bound of what a table of ``rows`` rows needs besides their keys."""
    return _ROW_BYTES * rows + max(_SLOT_BYTES * _hash_slots(rows), 4 * _most_numbers(rows))


class JoinProber:
    """Looks the chunks of one thread up in a table."""

    def __init__(self, table: JoinTable) -> None:
        self._table = table
        self._reader = KeyReader(table.keys)

    def find(self, keys: Sequence[pa.Array], rows: int) -> tuple[Array, int]:
        """Give the entry of every row of the key columns (int32, −1: none) and the number of rows that have one."""
        if not keys:
            return self._table.find(_NOTHING, (_NOTHING, 0), rows)
        return self._table.find(*self._reader.read(keys, rows), rows)
