"""The output of a map task, written by the worker as the data file of Spark's sort shuffle.

The file has the stream of each partition, one after the other (:mod:`~.block_stream`). Chunks come in any order, so
they are held in memory by partition; if they exceed ``max_bytes``, the streams of those held are appended to a parts
file without a name, which is merged in the end. If grouped messages are all of the output, a kernel makes the streams.
The JVM creates the file, commits it with the lengths that :meth:`MapOutput.finish` returns, and removes that of a
failed task, whose worker may run on and must leave nothing.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from time import perf_counter_ns as clock
from typing import IO, Any, BinaryIO

import numpy as np
import pyarrow as pa

from pyspark_pipeline.errors import ResourceExhaustedError
from pyspark_pipeline.exchange.block_stream import Piece, block_writer, blocks, row_bytes, row_pieces
from pyspark_pipeline.exchange.chunk_row import ChunkRow
from pyspark_pipeline.exchange.codec import plain_bytes
from pyspark_pipeline.exchange.messages import GroupedMessages
from pyspark_pipeline.kernels.buffers import allocate
from pyspark_pipeline.kernels.chunk_row_streams import BLOCK_BYTES, CODECS, ROW_BYTES, write_streams
from pyspark_pipeline.memory import BufferedBytes, MemoryTracker

_BUFFER_BYTES = 1 << 20
#: Each returns the checksum of bytes that continue those of a checksum.
_CHECKSUMS: dict[str | None, Callable[[Any, int], int]] = {
    "ADLER32": zlib.adler32, "CRC32": zlib.crc32, None: lambda _piece, checksum: checksum
}  # fmt: skip
_FIRST = {"ADLER32": 1, "CRC32": 0, None: 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class MapFile:
    """The empty file that the JVM made: path, partitions, codec (lz4, zstd, None), checksum (ADLER32, CRC32, None)."""

    path: str
    partitions: int
    codec: str | None
    checksum: str | None

    @staticmethod
    def of(control: Mapping[str, Any]) -> MapFile | None:
        """Return the file of a control message; None if the JVM writes the output."""
        wanted = control.get("mapFile")
        return None if wanted is None else MapFile(**wanted)


class MapOutput:
    """Collects the chunk rows of an instance and writes them to a :class:`MapFile`.

    The bytes that it reports are those of plain columns: the planner compares them with sizes of rows. ``add`` and
    ``finish`` raise :class:`ResourceExhaustedError` if the file cannot be written, as on a full disk.
    """

    def __init__(self, file: MapFile, memory: MemoryTracker, max_bytes: int) -> None:
        self._file = file
        self._rows: list[list[ChunkRow]] = [[] for _ in range(file.partitions)]
        self._parts: list[list[tuple[int, int]]] = [[] for _ in range(file.partitions)]
        self._write = block_writer(file.codec)
        self._memory = BufferedBytes("map output")
        self._memory.account_to(memory)
        self._max_bytes = self._memory.bounded(max_bytes)
        self._held = 0
        self._grouped: GroupedMessages | None = None
        self._parts_file: IO[bytes] | None = None
        self._counts = {"records": 0, "rows": 0, "bytes": 0, "ns": 0}

    def add(self, row: ChunkRow | GroupedMessages) -> None:
        """Add a chunk row to its partition, or grouped messages to theirs."""
        if isinstance(row, GroupedMessages):
            if self._counts["records"] or self._file.codec not in CODECS:
                self._add_each(row)
            else:
                self._add_alone(row)
            return
        if self._grouped is not None:
            self._ungroup(self._grouped)
        self._rows[row.partition].append(row)
        nbytes = row_bytes(row.data.size)
        self._counts["records"] += 1
        self._counts["rows"] += row.rows
        self._counts["bytes"] += row_bytes(plain_bytes(row.data))
        self._held += nbytes
        if not self._memory.add_and_check(nbytes) or self._held >= self._max_bytes:
            with self._on_disk():
                self._flush()

    def _add_alone(self, messages: GroupedMessages) -> None:
        """Hold grouped messages, the first part of the output."""
        words = (messages.plain_bytes + 7) // 8
        self._counts["records"] = messages.count
        self._counts["rows"] = int(messages.rows.sum())
        self._counts["bytes"] = messages.count * row_bytes(0) + 8 * int(words.sum())
        self._held = messages.nbytes
        self._grouped = messages
        if not self._memory.add_and_check(messages.nbytes):
            self._ungroup(messages)

    def _ungroup(self, messages: GroupedMessages) -> None:
        """Hold the only messages as chunk rows instead."""
        self._grouped = None
        self._counts["records"] = self._counts["rows"] = self._counts["bytes"] = 0
        self._release()
        self._add_each(messages)

    def _add_each(self, messages: GroupedMessages) -> None:
        for partition, rows, message in messages.each():
            self.add(ChunkRow(partition=partition, rows=rows, data=message, sender=messages.sender))

    def finish(self) -> Mapping[str, Any]:
        """Write the file, if there are chunks; return its lengths and checksums by partition, and what it holds."""
        started = clock()
        lengths = [0] * self._file.partitions
        checksums = [_FIRST[self._file.checksum]] * self._file.partitions
        if self._counts["records"]:
            with self._on_disk(), open(self._file.path, "r+b", buffering=_BUFFER_BYTES) as file:
                for partition, stream in self._streams():
                    lengths[partition], checksums[partition] = self._append(file, stream)
        self._counts["ns"] += clock() - started
        return {"lengths": lengths, "checksums": checksums if self._file.checksum else []} | self._counts

    def close(self) -> None:
        """Drop the chunks and the parts file. Idempotent."""
        self._rows = []
        self._grouped = None
        self._release()
        if self._parts_file is not None:
            with contextlib.suppress(OSError):  # of bytes that found no room
                self._parts_file.close()
            self._parts_file = None

    @contextlib.contextmanager
    def _on_disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ResourceExhaustedError(f"the map output {self._file.path} cannot be written: {error}") from error

    def _flush(self) -> None:
        """Append the streams of all rows in memory to the parts file."""
        started = clock()
        if self._parts_file is None:
            self._parts_file = tempfile.TemporaryFile(dir=os.path.dirname(self._file.path), buffering=_BUFFER_BYTES)
        file = self._parts_file
        at = file.tell()
        for partition, rows in enumerate(self._rows):
            if rows:
                length = sum(file.write(piece) for piece in self._stream(partition))
                self._parts[partition].append((at, length))
                at += length
                rows.clear()
        self._release()
        self._counts["ns"] += clock() - started

    def _release(self) -> None:
        self._memory.release(self._held)
        self._held = 0

    def _streams(self) -> Iterator[tuple[int, Iterable[Piece]]]:
        """Yield the partitions in order, and the stream of each; of grouped messages those that have rows."""
        if self._grouped is None:
            for partition in range(self._file.partitions):
                yield partition, chain(self._stored(partition), self._stream(partition))
            return
        messages = self._grouped
        is_lz4 = self._file.codec == "lz4"
        made = allocate(messages.nbytes + messages.count * (ROW_BYTES + BLOCK_BYTES), np.uint8)
        sizes = np.empty(messages.ends.size, dtype=np.int64)
        write_streams(messages.data, messages.ends, messages.rows, messages.sender, is_lz4, made, sizes)
        stream, at = pa.py_buffer(made), 0
        for partition, size in enumerate(sizes.tolist()):
            if size:
                yield partition, (stream[at : at + size],)
                at += size

    def _append(self, file: BinaryIO, stream: Iterable[Piece]) -> tuple[int, int]:
        """Append the stream of a partition to the file; return its length and its checksum."""
        proceed = _CHECKSUMS[self._file.checksum]
        length, checksum = 0, _FIRST[self._file.checksum]
        for piece in stream:
            length += file.write(piece)
            checksum = proceed(piece, checksum)
        return length, checksum

    def _stream(self, partition: int) -> Iterator[Piece]:
        """Yield the stream of the rows of a partition in memory."""
        pieces = chain.from_iterable(map(row_pieces, self._rows[partition]))
        return blocks(pieces, self._write)

    def _stored(self, partition: int) -> Iterator[Piece]:
        """Yield the streams of a partition in the parts file."""
        for at, length in self._parts[partition]:
            assert self._parts_file is not None
            self._parts_file.seek(at)
            while length:
                piece = self._parts_file.read(min(length, _BUFFER_BYTES))
                length -= len(piece)
                yield piece
