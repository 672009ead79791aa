"""A table of grouping keys that finds groups by some of the columns, as long as these determine the others.

Queries group by the name and the address of a customer beside the number, so as to select them. Strings are the
dearest keys: each is hashed and looked up in a table of its column. This table takes it that the columns of numbers, or
the first column of strings if there are no others, determine the other strings, and compares each of these with the one
that its group has. A row with another string shows that they do not: from then on its column is one of those that find
groups.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pyspark_pipeline.kernels.arrays import Int64Array
from pyspark_pipeline.kernels.group_table import GroupTable
from pyspark_pipeline.kernels.string_store import StringStore

_ROWS = 1 << 16


class DependentKeyTable:
    """Numbers distinct keys from 0 in the order of their first row, as :class:`GroupTable` does, which finds them.

    Columns have the given plain Arrow types, or are dictionaries of them.
    """

    def __init__(self, types: Sequence[pa.DataType]) -> None:
        self._types = types
        self._stores: dict[int, StringStore] = {}
        self._finding = list(range(len(types)))
        self._table = GroupTable(types)
        self._is_chosen = False

    @property
    def count(self) -> int:
        """The number of groups."""
        return self._table.count

    @property
    def dependent(self) -> list[int]:
        """The columns that find no groups, by position."""
        return list(self._stores)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._table.nbytes + sum(store.nbytes for store in self._stores.values())

    def has_capacity(self, rows: int) -> bool:
        """Return whether ``rows`` more groups fit without larger arrays."""
        return self._table.has_capacity(rows)

    def group_ids(self, keys: Sequence[pa.Array]) -> Int64Array:
        """Return the group of every row, found or inserted: int64, shape (rows,). At least one key column."""
        if not self._is_chosen and len(keys[0]):
            self._choose(keys)
        if not self._stores:
            return self._table.group_ids(keys)
        plain = {i: _decoded(keys[i]) for i in self._stores}
        while True:
            known = self.count
            groups, firsts = self._table.find([keys[i] for i in self._finding])
            other = self._first_other(plain, groups, firsts)
            if other is None:
                return groups
            self._find_by(other, known)

    def _choose(self, keys: Sequence[pa.Array]) -> None:
        """Choose the columns that find groups: a dictionary's strings are looked up once."""
        self._is_chosen = True
        strings = [i for i, key in enumerate(keys) if pa.types.is_string(key.type) or pa.types.is_binary(key.type)]
        if len(strings) == len(keys):
            del strings[0]
        self._stores = {i: StringStore(self._types[i]) for i in strings}
        self._finding = [i for i in range(len(keys)) if i not in self._stores]
        self._table = GroupTable([self._types[i] for i in self._finding])

    def _first_other(self, keys: dict[int, pa.Array], groups: Int64Array, firsts: Int64Array) -> int | None:
        """Add the strings of new groups; return the first column in which a row has not the string of its group."""
        for i, store in self._stores.items():
            store.append(keys[i], firsts)
        return next((i for i, store in self._stores.items() if not store.all_equal(keys[i], groups)), None)

    def _find_by(self, column: int, known: int) -> None:
        """Add ``column`` to those that find groups, and forget the groups from ``known`` on."""
        finding = sorted([*self._finding, column])
        table = GroupTable([self._types[i] for i in finding])
        for start in range(0, known, _ROWS):
            keys = dict(self._keys(start, min(start + _ROWS, known)))
            table.group_ids([keys[i] for i in finding])
        self._finding, self._table = finding, table
        del self._stores[column]
        for store in self._stores.values():
            store.truncate(known)

    def _keys(self, start: int, stop: int) -> list[tuple[int, pa.Array]]:
        found = zip(self._finding, self._table.keys(start, stop), strict=True)
        return [*found, *((i, store.strings(start, stop)) for i, store in self._stores.items())]

    def keys(self, start: int, stop: int) -> list[pa.Array]:
        """Return the key columns of groups ``start`` ≤ g < ``stop``."""
        return [key for _, key in sorted(self._keys(start, stop), key=lambda pair: pair[0])]


def _decoded(key: pa.Array) -> pa.Array:
    return key.dictionary_decode() if pa.types.is_dictionary(key.type) else key
