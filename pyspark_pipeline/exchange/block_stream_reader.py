"""Reads the streams of :mod:`~.block_stream` from files of Spark's shuffle on this machine.

A row with ``driver`` :data:`~.chunk_row.BLOCKS` stands for the chunk rows of blocks of map outputs: its data is JSON
with the codec and, for each block, its file, its offset there and its length. Every part is checked as Spark checks it.
A missing or damaged block raises :class:`ShuffleBlockError`; Spark then computes it again. A kernel finds the rows of a
short block; neighbouring small ones become one chunk row of :class:`~.messages.Messages`.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import pyarrow as pa

from pyspark_pipeline.errors import ShuffleBlockError
from pyspark_pipeline.exchange.block_stream import (
    DATA_START,
    LZ4_COMPRESSED,
    LZ4_HEADER,
    LZ4_MAGIC,
    LZ4_PLAIN,
    ROW_SIZE,
    ROW_WORDS,
    lz4_checksum,
)
from pyspark_pipeline.exchange.chunk_row import ChunkRow
from pyspark_pipeline.exchange.codec import Payload
from pyspark_pipeline.exchange.messages import Messages
from pyspark_pipeline.exchange.narrow_form import MAGIC
from pyspark_pipeline.kernels.arrays import Int64Array
from pyspark_pipeline.kernels.buffers import view
from pyspark_pipeline.kernels.chunk_row_streams import (
    CODECS,
    DATA,
    FOUND_ITEMS,
    ROW_BYTES,
    ROWS,
    RUN,
    SIZE,
    find_chunk_rows,
)

_BUFFER_BYTES = 1 << 18
_SHORT_BYTES = 1 << 20
_LEVEL_BITS = 0x0F

#: Returns the next part of a stream, uncompressed; None at its end.
_NextBlock: TypeAlias = Callable[[], "pa.Buffer | None"]


def read_blocks(row: ChunkRow) -> Iterator[ChunkRow]:
    """Yield the chunk rows of the blocks that ``row`` names, with its partition, block by block.

    Raises :class:`ShuffleBlockError` for a block that is missing or damaged.
    """
    message = json.loads(row.data.to_pybytes())
    for block in message["blocks"]:
        try:
            for made in _block_rows(message["codec"], block["path"], block["offset"], block["length"]):
                yield replace(made, partition=row.partition)
        except (OSError, EOFError, ValueError, struct.error, pa.ArrowInvalid) as error:
            raise _block_error(message, block, error) from error


def _block_error(message: Mapping[str, Any], block: Mapping[str, Any], error: Exception) -> ShuffleBlockError:
    text = f"{block['path']}, {block['length']} bytes from {block['offset']}: {error or type(error).__name__}"
    return ShuffleBlockError(text, message["shuffle"], block["map"], block["mapIndex"], block["reduce"])


def _block_rows(codec: str | None, path: str, offset: int, length: int) -> Iterator[ChunkRow]:
    """Yield the rows of a block; a short one is read at once."""
    with open(path, "rb", buffering=0) as file:
        if length > _SHORT_BYTES:
            file.seek(offset)
            yield from _rows(_STREAMS[codec](io.BufferedReader(file, _BUFFER_BYTES), length))
            return
        data = os.pread(file.fileno(), length, offset)
    found = _found_rows(codec, data) if len(data) == length else None
    yield from _rows(_STREAMS[codec](io.BytesIO(data), length)) if found is None else found


def _found_rows(codec: str | None, data: bytes) -> Iterator[ChunkRow] | None:
    """Return the rows that a kernel finds in a block, the small ones together; None if it does not know its form."""
    if codec not in CODECS:
        return None
    buffer = pa.py_buffer(data)
    found = np.empty((len(data) // ROW_BYTES, FOUND_ITEMS), dtype=np.int64)
    count = find_chunk_rows(view(buffer, "|u1", 1, 0, buffer.size), codec == "lz4", MAGIC, found)
    return None if count < 0 else _rows_of_runs(buffer, found[:count])


def _rows_of_runs(buffer: pa.Buffer, found: Int64Array) -> Iterator[ChunkRow]:
    """Yield a chunk row for each run of rows."""
    starts = np.flatnonzero(np.diff(found[:, RUN], prepend=-1)).tolist()
    for start, stop in itertools.pairwise([*starts, len(found)]):
        run = found[start:stop]
        place, size, rows, sender, sequence, _ = run[0].tolist()
        data: Payload = buffer.slice(place, size)
        if stop - start > 1:
            rows = int(run[:, ROWS].sum())
            data = Messages(buffer.address + run[:, DATA], run[:, SIZE].copy(), rows, buffer)
        yield ChunkRow(partition=0, rows=rows, data=data, sender=sender, sequence=sequence)


class _Part:
    """A part of a file, read from its start to its end."""

    def __init__(self, file: BinaryIO, length: int) -> None:
        self._file = file
        self.left = length

    def read(self, size: int) -> bytes:
        """Return ``size`` bytes; raise :class:`EOFError` if the part has fewer."""
        self._take(size)
        data = self._file.read(size)
        if len(data) != size:
            raise EOFError("the file ends before the block")
        return data

    def read_buffer(self, size: int) -> pa.Buffer:
        """Return ``size`` bytes in aligned memory; see :meth:`read`."""
        self._take(size)
        buffer = pa.allocate_buffer(size)
        if self._file.readinto(memoryview(buffer)) != size:  # type: ignore[attr-defined]
            raise EOFError("the file ends before the block")
        return buffer

    def _take(self, size: int) -> None:
        if not 0 <= size <= self.left:
            raise EOFError(f"{size} bytes are expected where the block has {self.left}")
        self.left -= size


def _lz4(file: BinaryIO, length: int) -> _NextBlock:
    part = _Part(file, length)
    codec = pa.Codec("lz4_raw")

    def read() -> pa.Buffer | None:
        while part.left:
            magic, token, stored, size, checksum = LZ4_HEADER.unpack(part.read(LZ4_HEADER.size))
            method = token & ~_LEVEL_BITS
            if magic != LZ4_MAGIC or method not in (LZ4_PLAIN, LZ4_COMPRESSED) or size < 0:
                raise ValueError("the LZ4 stream is corrupted")
            if not size:  # ends a stream; another may follow
                continue
            data = part.read_buffer(stored)
            if method == LZ4_COMPRESSED:
                data = codec.decompress(data, size)
            if data.size != size or lz4_checksum(data) != checksum:
                raise ValueError("the LZ4 stream is corrupted")
            return data
        return None

    return read


def _zstd(file: BinaryIO, length: int) -> _NextBlock:
    part = _Part(file, length)
    stream = pa.CompressedInputStream(pa.BufferReader(part.read_buffer(length)), "zstd")

    def read() -> pa.Buffer | None:
        data = stream.read_buffer(_BUFFER_BYTES)
        return data if data.size else None

    return read


def _plain(file: BinaryIO, length: int) -> _NextBlock:
    part = _Part(file, length)

    def read() -> pa.Buffer | None:
        return part.read_buffer(min(part.left, _BUFFER_BYTES)) if part.left else None

    return read


_STREAMS: dict[str | None, Callable[[BinaryIO, int], _NextBlock]] = {
    "lz4": _lz4,
    "zstd": _zstd,
    None: _plain,
}


class _Bytes:
    """The bytes of a stream: of the blocks as they come, joined where a value spans several."""

    def __init__(self, next_block: _NextBlock) -> None:
        self._next_block = next_block
        self._block = pa.py_buffer(b"")
        self._at = 0

    def is_at_end(self) -> bool:
        """Return whether no byte is left."""
        while self._at == self._block.size:
            block = self._next_block()
            if block is None:
                return True
            self._block, self._at = block, 0
        return False

    def take(self, size: int) -> pa.Buffer:
        """Return the next ``size`` bytes; raise :class:`EOFError` if there are fewer."""
        if size and self.is_at_end():
            raise EOFError("the block ends within a row")
        if self._at + size <= self._block.size:
            self._at += size
            return self._block.slice(self._at - size, size)
        joined, filled = pa.allocate_buffer(size), 0
        out = memoryview(joined)
        while filled < size:
            if self.is_at_end():
                raise EOFError("the block ends within a row")
            taken = min(size - filled, self._block.size - self._at)
            out[filled : filled + taken] = memoryview(self._block)[self._at : self._at + taken]
            self._at += taken
            filled += taken
        return joined


def _rows(next_block: _NextBlock) -> Iterator[ChunkRow]:
    """Yield the chunk rows of a stream, with the partition in which they were written."""
    stream = _Bytes(next_block)
    while not stream.is_at_end():
        (row_size,) = ROW_SIZE.unpack(stream.take(ROW_SIZE.size))
        _, partition, driver, sender, sequence, rows, place = ROW_WORDS.unpack(stream.take(DATA_START))
        size = place & 0x7FFFFFFF
        if place >> 32 != DATA_START or DATA_START + size > row_size:
            raise ValueError("a row of the block is damaged")
        data = stream.take(size)
        stream.take(row_size - DATA_START - size)
        signed = driver - (1 << 32) if driver >> 31 else driver
        yield ChunkRow(partition=partition, driver=signed, sender=sender, sequence=sequence, rows=rows, data=data)
