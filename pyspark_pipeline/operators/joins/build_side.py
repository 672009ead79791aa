"""The build side of a join: its kept columns, and the hash table that finds their rows by key.

A :class:`BuildCollector` collects one driver's chunks; :class:`BuildSide` is built of all collectors.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pyarrow as pa

from pyspark_pipeline.exec.chunk_bytes import ChunkBytes
from pyspark_pipeline.exec.chunk_concat import concat_chunks
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.expressions import ExpressionSettings, compile_expressions
from pyspark_pipeline.kernels.arrays import Int32Array
from pyspark_pipeline.kernels.buffers import count_nulls, make_chunk
from pyspark_pipeline.kernels.join_table import JoinTable, max_index_bytes
from pyspark_pipeline.kernels.key_filter import KeyFilter
from pyspark_pipeline.kernels.take import take
from pyspark_pipeline.plan.expr import Expr

_SAMPLE_ROWS = 2048
_REPEATS = 4
_LARGE = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}


class BuildCollector:
    """Chunks of the build side: their evaluated keys and their kept columns.

    ``null_keys`` counts the NULLs in the key columns of all chunks added.
    """

    def __init__(self, keys: Sequence[Expr], kept: Sequence[int], settings: ExpressionSettings) -> None:
        self.rows = 0
        self.nbytes = 0
        self.null_keys = 0
        self.key_types = [key.type.arrow for key in keys]
        self.keys: list[list[pa.Array]] = [[] for _ in keys]
        self.columns: list[list[pa.Array]] = [[] for _ in kept]
        self._kept = kept
        self._expressions = compile_expressions(keys, settings)
        self._bytes = ChunkBytes()

    def add(self, chunk: Chunk) -> None:
        """Add a chunk."""
        kept = [chunk.column(ordinal) for ordinal in self._kept]
        keys = self._expressions.evaluate(chunk)
        self.null_keys += count_nulls(keys)
        self._append(chunk, keys, kept)

    def restore(self, chunk: Chunk) -> None:
        """Add a chunk that :meth:`drain` of a collector of the same join yielded."""
        count = len(self.keys)
        self._append(chunk, chunk.columns[:count], chunk.columns[count:])

    def drain(self) -> Iterator[Chunk]:
        """Remove all rows and yield them as chunks of the keys and the kept columns."""
        chunks = [make_chunk(list(arrays), len(arrays[0])) for arrays in zip(*self.keys, *self.columns, strict=True)]
        self.clear()
        yield from chunks

    def clear(self) -> None:
        """Remove all rows."""
        self.rows = self.nbytes = 0
        self.keys = [[] for _ in self.keys]
        self.columns = [[] for _ in self.columns]

    def _append(self, chunk: Chunk, keys: Sequence[pa.Array], kept: Sequence[pa.Array]) -> None:
        self.rows += chunk.num_rows
        self.nbytes += self._bytes.estimate(chunk)
        for chunks, key in zip(self.keys, keys, strict=True):
            chunks.append(key)
        for chunks, column in zip(self.columns, kept, strict=True):
            chunks.append(column)


def build_bytes(nbytes: int, rows: int) -> int:
    """Estimate the bytes to build a :class:`BuildSide`, beside the ``nbytes`` of its chunks."""
    return nbytes + max_index_bytes(rows)


class BuildSide:
    """The build rows and their table. The rows are immutable: any number of threads and tasks may share them.

    ``types``: the types of the kept columns. ``lists``: whether the probe needs the matching rows, not only whether
    a match exists.
    """

    def __init__(self, parts: Sequence[BuildCollector], types: Sequence[pa.DataType], *, lists: bool = True) -> None:
        first = parts[0]
        self.rows = sum(part.rows for part in parts)
        keys = [[key for part in parts for key in part.keys[i]] for i in range(len(first.keys))]
        self.table = JoinTable(first.key_types, keys, self.rows, lists=lists)
        del keys
        for part in parts:
            part.keys = [[] for _ in part.keys]
        self._types = types
        self.columns = []
        for place, kind in enumerate(types):
            whole = _whole([array for part in parts for array in part.columns[place]], kind)
            self.columns.append(_with_dictionary(whole) if kind == pa.string() else whole)
            for part in parts:
                part.columns[place] = []
        self.nbytes = self.table.nbytes + sum(column.nbytes for column in self.columns)
        self._filter: KeyFilter | None = None
        self._lock = threading.Lock()

    def key_filter(self) -> KeyFilter:
        """Return the filter of the keys, built by the first call."""
        with self._lock:
            if self._filter is None:
                self._filter = KeyFilter(self.table)
                self.nbytes += self._filter.nbytes
            return self._filter

    def take(self, place: int, rows: Int32Array, *, with_missing: bool = False) -> pa.Array:
        """Return the values of kept column ``place`` in ``rows`` (int32); −1 yields NULL if ``with_missing``."""
        taken = take(self.columns[place], rows, with_missing=with_missing)
        if taken.type in (pa.large_string(), pa.large_binary()):
            return taken.cast(self._types[place])
        return taken


def _whole(arrays: list[pa.Array], kind: pa.DataType) -> pa.Array:
    """Concatenate the arrays of one column; strings too long for 32-bit offsets get 64-bit offsets."""
    if not arrays:
        return pa.array([], kind)
    try:
        return concat_chunks([pa.RecordBatch.from_arrays([array], ["c0"]) for array in arrays]).column(0)
    except pa.ArrowInvalid:
        large = _LARGE.get(kind)
        if large is None:
            raise
        return pa.concat_arrays([array.cast(large) for array in arrays])


def _with_dictionary(strings: pa.Array) -> pa.Array:
    """Dictionary-encode strings with many duplicates, so that codes are gathered; a sample decides."""
    if strings.type != pa.string() or len(strings) < _SAMPLE_ROWS or not _repeats(strings.slice(0, _SAMPLE_ROWS)):
        return strings
    encoded = strings.dictionary_encode()
    return encoded if _REPEATS * len(encoded.dictionary) <= len(strings) else strings


def _repeats(strings: pa.Array) -> bool:
    return bool(_REPEATS * len(strings.unique()) <= len(strings))
