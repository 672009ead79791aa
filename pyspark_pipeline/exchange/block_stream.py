"""Streams of chunk rows as Spark's shuffle stores them: ``UnsafeRow``s behind their sizes, in blocks of a codec.

A file with such streams can be read by Spark's own shuffle, on any executor. The codecs are those of
``spark.io.compression.codec`` whose streams may be concatenated block by block:

* ``lz4``: blocks of LZ4's Java library: a header of 21 bytes (magic, method, stored and plain size, xxHash32 of the
  plain bytes), then the bytes, plain or LZ4.
* ``zstd``: one Zstandard frame a block.
* ``None``: no compression.

Small rows share a block; the data of a large one has a block of its own, which is not copied before it is compressed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from pyspark_pipeline.exchange.chunk_row import ChunkRow
from pyspark_pipeline.exchange.codec import payload_pieces
from pyspark_pipeline.kernels.xxhash32 import xxhash32

#: Of the row: size (big-endian, as Java writes it), NULL bits, five numbers, place and size of the data.
ROW_SIZE = struct.Struct(">i")
ROW_WORDS = struct.Struct("<7q")
DATA_START = ROW_WORDS.size

LZ4_HEADER = struct.Struct("<8sBiiI")
LZ4_MAGIC = b"LZ4Block"
_LZ4_SEED = np.uint32(0x9747B28C)
LZ4_PLAIN, LZ4_COMPRESSED = 0x10, 0x20
#: Blocks have at most 2¹⁰⁺ˡ plain bytes, with the level ``l`` in the low bits of the method.
_LZ4_LEVEL = 15
_MOST_BYTES = 1 << (10 + _LZ4_LEVEL)
#: Pieces of fewer bytes are joined.
_SMALL_BYTES = 32 << 10

#: Blocks that LZ4 does not shrink to this share are stored plain, and so are the next ones, untried.
_WORTH = 0.85
_BLOCKS_UNTRIED = 15

Piece: TypeAlias = "bytes | pa.Buffer"
#: Returns what to store of the plain bytes of a block.
BlockWriter: TypeAlias = Callable[[Piece], Iterator[Piece]]


def row_pieces(row: ChunkRow) -> Iterator[Piece]:
    """Yield the plain bytes of a row: size and fixed part of the ``UnsafeRow``, data, zeros to a whole word."""
    size = row.data.size
    words = ROW_WORDS.pack(
        0, row.partition, row.driver & 0xFFFFFFFF, row.sender, row.sequence, row.rows, DATA_START << 32 | size
    )
    yield ROW_SIZE.pack(row_bytes(size)) + words
    yield from payload_pieces(row.data)
    if size % 8:
        yield bytes(-size % 8)


def row_bytes(data_bytes: int) -> int:
    """Return the size of the ``UnsafeRow`` of a chunk."""
    return DATA_START + (data_bytes + 7) // 8 * 8


def blocks(pieces: Iterable[Piece], write: BlockWriter) -> Iterator[Piece]:
    """Yield what to store of a stream of plain bytes: small pieces joined, large ones alone."""
    small: list[Piece] = []
    held = 0
    for piece in pieces:
        size = memoryview(piece).nbytes
        if size >= _SMALL_BYTES or held >= _SMALL_BYTES:
            if small:
                yield from write(_joined(small))
            small, held = [], 0
        if size >= _SMALL_BYTES:
            for at in range(0, size, _MOST_BYTES):
                yield from write(piece[at : at + _MOST_BYTES])
        else:
            small.append(piece)
            held += size
    if small:
        yield from write(_joined(small))


def _joined(pieces: list[Piece]) -> Piece:
    return pieces[0] if len(pieces) == 1 else b"".join(memoryview(piece) for piece in pieces)


def lz4_checksum(plain: Piece) -> int:
    """Return the checksum of the plain bytes of an LZ4 block: 28 bits."""
    array = np.frombuffer(plain, np.uint8)
    whole = array.size - array.size % 4
    return int(xxhash32(array[:whole].view(np.uint32), array[whole:], _LZ4_SEED)) & 0xFFFFFFF


class _Lz4Blocks:
    """Writes LZ4 blocks, compressed where that pays."""

    def __init__(self) -> None:
        self._codec = pa.Codec("lz4_raw")
        self._untried = 0

    def __call__(self, plain: Piece) -> Iterator[Piece]:
        size = memoryview(plain).nbytes
        method, stored = LZ4_PLAIN, plain
        if self._untried:
            self._untried -= 1
        else:
            compressed = self._codec.compress(plain)
            if compressed.size < size * _WORTH:
                method, stored = LZ4_COMPRESSED, compressed
            elif size >= _SMALL_BYTES:
                self._untried = _BLOCKS_UNTRIED
        stored_bytes = memoryview(stored).nbytes
        yield LZ4_HEADER.pack(LZ4_MAGIC, method | _LZ4_LEVEL, stored_bytes, size, lz4_checksum(plain))
        yield stored


class _ZstdFrames:
    """Writes Zstandard frames."""

    def __init__(self) -> None:
        self._codec = pa.Codec("zstd", compression_level=1)

    def __call__(self, plain: Piece) -> Iterator[Piece]:
        yield self._codec.compress(plain)


def _plain(plain: Piece) -> Iterator[Piece]:
    yield plain


def block_writer(codec: str | None) -> BlockWriter:
    """Return the writer of the blocks of ``codec``: lz4, zstd or None."""
    if codec is None:
        return _plain
    return _Lz4Blocks() if codec == "lz4" else _ZstdFrames()
