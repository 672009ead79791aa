"""Rows put aside on disk by the hash of their keys, to be taken back partition by partition.

Rows of equal keys are in one partition. A partition that is still too large is dealt out again by other bits of
the hash, level by level. The bits have nothing to do with the partition of Spark that the rows are in, nor with
the driver they were dealt to, though all come from the same Murmur3 hash.
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
from pyspark_pipeline.kernels.buffers import Array
from pyspark_pipeline.kernels.kept_pages import KEPT
from pyspark_pipeline.kernels.murmur3 import hash_rows
from pyspark_pipeline.kernels.partition import group_rows
from pyspark_pipeline.memory import MemoryTracker, SpillRoom
from pyspark_pipeline.memory.spill_files import SpillFile, SpillFiles, count_spill

FAN = 16
#: Rows are dealt out at levels 0 … this.
LAST_LEVEL = 4
#: Who holds fewer bytes than this has nothing worth putting aside.
LEAST_BYTES = 1 << 20
#: What waits is written from so many bytes on, or from this part of the memory limit: it is copied to be written.
_WRITTEN_BYTES = 4 << 20
_WRITTEN_PART = 32
_READ_BYTES = 1 << 20
#: Rows that are dealt out are joined, then put in order; never are there more than two of each.
_COPIES = 2
_BITS = FAN.bit_length() - 1

Keys = Callable[[Chunk], Sequence[pa.Array]]


def first_columns(count: int) -> Keys:
    """Say that the keys are the first ``count`` columns."""

    def keys(chunk: Chunk) -> list[pa.Array]:
        return [chunk.column(i) for i in range(count)]

    return keys


class SpillPartitions:
    """``FAN`` partitions of chunks of equal columns: first all are written, then they are read.

    ``keys`` gives the key columns of a chunk. Small chunks are collected before they are dealt out: ``nbytes`` is
    what waits in memory. The copies made then are counted in the ``memory`` of the operator whose call it is.
    """

    def __init__(self, level: int, keys: Keys, room: SpillRoom) -> None:
        self.level = level
        self.nbytes = 0
        self.files: list[SpillFile | None] = [None] * FAN
        self._keys = keys
        self._waiting: list[Chunk] = []
        self._all = SpillFiles(room)

    def add(self, chunk: Chunk, memory: MemoryTracker) -> None:
        """Take a chunk. Raises :class:`ResourceExhaustedError` where the disk takes no more."""
        self._waiting.append(chunk)
        self.nbytes += chunk.nbytes
        if self.nbytes >= bytes_to_write(memory):
            self.flush(memory)

    def finish(self, context: OperatorContext) -> None:
        """Write what waits and count; no chunk may come after."""
        self.flush(context.memory)
        made = [file for file in self.files if file is not None]
        for file in made:
            file.finish()
        count_spill(context.metrics, made)

    def close(self) -> None:
        """Drop everything. Repeatable."""
        self._waiting, self.nbytes = [], 0
        self._all.close()

    def flush(self, memory: MemoryTracker) -> None:
        """Write what waits."""
        copied = _COPIES * self.nbytes
        waiting, self._waiting, self.nbytes = self._waiting, [], 0
        memory.force_consume(copied)
        try:
            for chunk in _joined(waiting):
                self._deal(_without_wide_dictionaries(chunk))
        finally:
            memory.release(copied)
        KEPT.left(copied)

    def _deal(self, chunk: Chunk) -> None:
        places = spill_places(self._keys(chunk), chunk.num_rows, self.level)
        starts, rows = group_rows(places, FAN)
        dealt = chunk.take(pa.array(rows)) if chunk.num_columns else chunk
        rows_of_piece = max(1, _READ_BYTES * dealt.num_rows // max(dealt.nbytes, 1))
        for place in range(FAN):
            first, last = int(starts[place]), int(starts[place + 1])
            if last > first:
                file = self.files[place]
                if file is None:
                    file = self.files[place] = self._all.create()
                for piece in slices(dealt.slice(first, last - first), rows_of_piece):
                    file.write(piece)


def bytes_to_write(memory: MemoryTracker) -> int:
    """Give the bytes that are dealt out at a time: few where the limit of ``memory`` is small."""
    limit = memory.least_limit()
    return _WRITTEN_BYTES if limit is None else min(_WRITTEN_BYTES, limit // _WRITTEN_PART)


def spill_places(keys: Sequence[pa.Array], rows: int, level: int) -> Array:
    """Give the partition (0 ≤ it < ``FAN``) of every row by ``keys``: int32, shape (rows,).

    The hash is mixed by the finaliser "lowbias32" of C. Wellons' hash-prospector; a level takes bits of its own.
    """
    mixed = hash_rows(keys, rows)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        mixed ^= mixed >> np.uint32(shift)
        mixed *= np.uint32(factor)
    mixed ^= mixed >> np.uint32(16)
    places: Array = ((mixed >> np.uint32(_BITS * level)) & np.uint32(FAN - 1)).astype(np.int32)
    return places


def read_together(files: Iterable[SpillFile]) -> Iterator[Chunk]:
    """Give the rows of files in order, small chunks joined."""
    held: list[Chunk] = []
    nbytes = 0
    for file in files:
        for chunk in file.read():
            held.append(chunk)
            nbytes += chunk.nbytes
            if nbytes >= _READ_BYTES:
                yield from _joined(held)
                nbytes = 0
    yield from _joined(held)


def _joined(chunks: list[Chunk]) -> Iterator[Chunk]:
    """Take the chunks out of a list, joined: all in one, or as many as fit together into strings of 32-bit offsets."""
    while chunks:
        ends = list(accumulate(chunk.nbytes for chunk in chunks))
        count = max(1, bisect_right(ends, 1 << 30))
        joined = concat_chunks(chunks[:count])
        del chunks[:count]
        yield joined


def _without_wide_dictionaries(chunk: Chunk) -> Chunk:
    """Decode the dictionaries that are worth more than the rows of a partition: every file gets them whole."""
    wide = [
        isinstance(column, pa.DictionaryArray) and FAN * len(column.dictionary) > len(column)
        for column in chunk.columns
    ]
    if not any(wide):
        return chunk
    columns = [c.dictionary_decode() if w else c for c, w in zip(chunk.columns, wide, strict=True)]
    return pa.RecordBatch.from_arrays(columns, chunk.schema.names)
