"""Rows spilled to disk, partitioned by the hash of their keys, and restored partition by partition.

Rows of equal keys are in one partition. A partition that is still too large is partitioned again by other bits of the
hash, level by level. The bits are independent of Spark's partition and of the driver of a row, though all derive from
the same Murmur3 hash.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

import numpy as np
import pyarrow as pa

from pyspark_pipeline.exec.chunk_concat import concat_chunks
from pyspark_pipeline.exec.chunk_slices import slices
from pyspark_pipeline.exec.context import OperatorContext
from pyspark_pipeline.exec.operator import Chunk
from pyspark_pipeline.kernels.allocator_trim import ALLOCATOR_TRIM
from pyspark_pipeline.kernels.arrays import Int32Array
from pyspark_pipeline.kernels.murmur3 import hash_rows
from pyspark_pipeline.kernels.partition import group_rows
from pyspark_pipeline.kernels.take import take_rows
from pyspark_pipeline.memory import MemoryTracker, SpillBudget
from pyspark_pipeline.memory.spill_files import SpillFile, SpillFiles, count_spill

FAN = 16
#: The last level of partitioning; the first is 0.
LAST_LEVEL = 4
#: An operator that holds fewer bytes than this does not spill.
MIN_SPILL_BYTES = 1 << 20
#: Buffered rows are written from this many bytes on, or from this part of the memory limit: writing copies them.
_WRITTEN_BYTES = 4 << 20
_WRITTEN_PART = 32
_READ_BYTES = 1 << 20
#: Partitioning concatenates rows, then groups them; at most two copies of a row exist.
_COPIES = 2
_BITS = FAN.bit_length() - 1

Keys = Callable[[Chunk], Sequence[pa.Array]]


def first_columns(count: int) -> Keys:
    """Return the function that selects the first ``count`` columns as keys."""

    def keys(chunk: Chunk) -> list[pa.Array]:
        return [chunk.column(i) for i in range(count)]

    return keys


class SpillPartitions:
    """``FAN`` partitions of chunks of one schema: first all are written, then they are read.

    ``keys`` returns the key columns of a chunk. Small chunks are buffered before they are partitioned: ``nbytes`` are
    the bytes buffered. The ``memory`` tracker of the calling operator accounts for the copies.
    """

    def __init__(self, level: int, keys: Keys, budget: SpillBudget) -> None:
        self.level = level
        self.nbytes = 0
        self.files: list[SpillFile | None] = [None] * FAN
        self._keys = keys
        self._waiting: list[Chunk] = []
        self._all = SpillFiles(budget)

    def add(self, chunk: Chunk, memory: MemoryTracker) -> None:
        """Add a chunk. Raises :class:`ResourceExhaustedError` if the disk is full."""
        self._waiting.append(chunk)
        self.nbytes += chunk.nbytes
        if self.nbytes >= flush_threshold(memory):
            self.flush(memory)

    def finish(self, context: OperatorContext) -> None:
        """Write the buffered chunks and update the metrics; no chunk may be added after."""
        self.flush(context.memory)
        made = [file for file in self.files if file is not None]
        for file in made:
            file.finish()
        count_spill(context.metrics, made)

    def close(self) -> None:
        """Release everything. Repeatable."""
        self._waiting, self.nbytes = [], 0
        self._all.close()

    def flush(self, memory: MemoryTracker) -> None:
        """Write the buffered chunks."""
        copied = _COPIES * self.nbytes
        waiting, self._waiting, self.nbytes = self._waiting, [], 0
        memory.consume_unchecked(copied)
        try:
            for chunk in _coalesced(waiting):
                self._partition(_decode_wide_dictionaries(chunk))
        finally:
            memory.release(copied)
        ALLOCATOR_TRIM.note_freed(copied)

    def _partition(self, chunk: Chunk) -> None:
        places = spill_partition_ids(self._keys(chunk), chunk.num_rows, self.level)
        starts, rows = group_rows(places, FAN)
        grouped = take_rows(chunk, rows)
        rows_of_piece = max(1, _READ_BYTES * grouped.num_rows // max(grouped.nbytes, 1))
        for place in range(FAN):
            first, last = int(starts[place]), int(starts[place + 1])
            if last > first:
                file = self.files[place]
                if file is None:
                    file = self.files[place] = self._all.create()
                for piece in slices(grouped.slice(first, last - first), rows_of_piece):
                    file.write(piece)


def flush_threshold(memory: MemoryTracker) -> int:
    """Return the number of bytes to partition at a time: few if the limit of ``memory`` is small."""
    limit = memory.min_limit()
    return _WRITTEN_BYTES if limit is None else min(_WRITTEN_BYTES, limit // _WRITTEN_PART)


def spill_partition_ids(keys: Sequence[pa.Array], rows: int, level: int) -> Int32Array:
    """Return the partition (0 ≤ it < ``FAN``) of every row by ``keys``: int32, shape (rows,).

    The hash is mixed by the finaliser "lowbias32" of C. Wellons' hash-prospector; each level uses different bits.
    """
    mixed = hash_rows(keys, rows)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        mixed ^= mixed >> np.uint32(shift)
        mixed *= np.uint32(factor)
    mixed ^= mixed >> np.uint32(16)
    places: Int32Array = ((mixed >> np.uint32(_BITS * level)) & np.uint32(FAN - 1)).astype(np.int32)
    return places


def read_coalesced(files: Iterable[SpillFile]) -> Iterator[Chunk]:
    """Yield the rows of files in order, with small chunks coalesced."""
    held: list[Chunk] = []
    nbytes = 0
    for file in files:
        for chunk in file.read():
            held.append(chunk)
            nbytes += chunk.nbytes
            if nbytes >= _READ_BYTES:
                yield from _coalesced(held)
                nbytes = 0
    yield from _coalesced(held)


def _coalesced(chunks: list[Chunk]) -> Iterator[Chunk]:
    """Remove the chunks from a list and yield them concatenated, each piece small enough for 32-bit string offsets."""
    while chunks:
        ends = list(accumulate(chunk.nbytes for chunk in chunks))
        count = max(1, bisect_right(ends, 1 << 30))
        joined = concat_chunks(chunks[:count])
        del chunks[:count]
        yield joined


def _decode_wide_dictionaries(chunk: Chunk) -> Chunk:
    """Decode dictionaries larger than the rows of a partition: every file would hold the whole dictionary."""
    wide = [
        isinstance(column, pa.DictionaryArray) and FAN * len(column.dictionary) > len(column)
        for column in chunk.columns
    ]
    if not any(wide):
        return chunk
    columns = [c.dictionary_decode() if w else c for c, w in zip(chunk.columns, wide, strict=True)]
    return pa.RecordBatch.from_arrays(columns, chunk.schema.names)
