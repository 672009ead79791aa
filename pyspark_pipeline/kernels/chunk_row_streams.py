"""Streams of small chunk rows (:mod:`~pyspark_pipeline.exchange.block_stream`), many at once: written and found again.

A chunk row is the size of the ``UnsafeRow`` (big-endian), its NULL bits, five numbers, the place and
the size of the data, the data. If the codec is LZ4, it is in a block of its own, which is not compressed.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Int64Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.words import load_word, store_word, swap_bytes
from pyspark_pipeline.kernels.xxhash32 import xxhash32

#: The codecs whose streams these kernels know.
CODECS = ("lz4", None)

#: Bytes before the data: the size and seven words; the header of a block.
ROW_BYTES, BLOCK_BYTES = 60, 21
_SIZE_BYTES = 4

#: Items of a chunk row that was found: the place and the size of its data, its number of rows, its sender, its
#: sequence, its run.
DATA, SIZE, ROWS, SENDER, SEQUENCE, RUN = range(6)
FOUND_ITEMS = 6
#: Bytes of the largest data, and rows, of a run.
RUN_DATA_BYTES, RUN_ROWS = 8 << 10, 1 << 16

_MAGIC = np.uint64(0x6B636F6C42345A4C)  # LZ4Block
_PLAIN = 0x10
_TOKEN = 0x1F  # plain, of blocks of the largest level
_SEED = np.uint32(0x9747B28C)
_CHECKSUM_BITS = np.uint32(0xFFFFFFF)
_LOW = np.uint64(0xFFFFFFFF)
_ANY_DRIVER = np.int64(0xFFFFFFFF)


@kernel
def _checksum(data: UInt8Array, start: int, size: int) -> int:
    whole = size - size % 4
    words = data[start : start + whole].view(np.uint32)
    return np.int64(xxhash32(words, data[start + whole : start + size], _SEED) & _CHECKSUM_BITS)


@kernel
def write_streams(
    data: UInt8Array, ends: Int64Array, rows: Int64Array, sender: int, is_lz4: bool, out: UInt8Array, sizes: Int64Array
) -> None:
    """Write the stream of each partition: the chunk row of its message in ``data``, if it has rows.

    ``ends`` and ``rows`` (int64, shape (partitions,)): the ends of the messages, which are whole words, and their rows;
    ``sizes`` (of the same shape) receives the sizes of the streams.
    """
    base, source = np.uint64(out.ctypes.data), np.uint64(data.ctypes.data)
    at = start = np.int64(0)
    for partition in range(ends.shape[0]):
        size = ends[partition] - start
        sizes[partition] = 0
        if size:
            begin = at
            begin_row = at + BLOCK_BYTES if is_lz4 else at
            row = base + np.uint64(begin_row)
            row_size = np.uint64(size + ROW_BYTES - _SIZE_BYTES)
            store_word(row, swap_bytes(row_size) >> np.uint64(32))
            words = row + np.uint64(_SIZE_BYTES)
            store_word(words, np.uint64(0))
            store_word(words + np.uint64(8), np.uint64(partition))
            store_word(words + np.uint64(16), np.uint64(_ANY_DRIVER))
            store_word(words + np.uint64(24), np.uint64(sender))
            store_word(words + np.uint64(32), np.uint64(0))
            store_word(words + np.uint64(40), np.uint64(rows[partition]))
            store_word(words + np.uint64(48), np.uint64(((ROW_BYTES - _SIZE_BYTES) << 32) | size))
            target, origin = words + np.uint64(56), source + np.uint64(start)
            for word in range(0, size, 8):
                store_word(target + np.uint64(word), load_word(origin + np.uint64(word)))
            at = begin_row + ROW_BYTES + size
            if is_lz4:
                plain = ROW_BYTES + size
                block = base + np.uint64(begin)
                store_word(block, _MAGIC)
                out[begin + 8] = _TOKEN
                for byte in range(4):
                    out[begin + 9 + byte] = out[begin + 13 + byte] = (plain >> (8 * byte)) & 0xFF
                checksum = _checksum(out, begin_row, plain)
                for byte in range(4):
                    out[begin + 17 + byte] = (checksum >> (8 * byte)) & 0xFF
            sizes[partition] = at - begin
        start = ends[partition]


@kernel
def _header_bytes(data: UInt8Array, at: int, size: int, magic: int) -> int:
    """Return the bytes of a header: ``magic``, a number of bytes, these bytes; 0 if the message has none."""
    word = load_word(np.uint64(data.ctypes.data) + np.uint64(at)) if size >= 8 else np.uint64(0)
    if np.int64(word & _LOW) != magic:
        return 0
    return min((8 + np.int64(word >> np.uint64(32)) + 7) // 8 * 8, size)


@kernel
def _are_equal(data: UInt8Array, one: int, other: int, size: int) -> bool:
    for at in range(size):
        if data[one + at] != data[other + at]:
            return False
    return True


@kernel
def find_chunk_rows(data: UInt8Array, is_lz4: bool, magic: int, items: Int64Array) -> int:
    """Find the chunk rows in a part of a file: return their number, −1 for anything else, or more than ``items`` holds.

    ``items`` (int64, shape (rows, :data:`FOUND_ITEMS`)) receives what is found. The rows must be for any driver.
    Neighbours are of the same run if they are small, and their sender and their headers, which start with ``magic``
    and a number of bytes after it, are the same.
    """
    run, run_rows, header = 0, 0, 0
    base = np.uint64(data.ctypes.data)
    at, found, end = 0, 0, data.shape[0]
    while at < end:
        begin = at + BLOCK_BYTES if is_lz4 else at
        if begin + ROW_BYTES > end or found == items.shape[0]:
            return -1
        row = base + np.uint64(begin)
        size = np.int64(swap_bytes(load_word(row) << np.uint64(32))) + _SIZE_BYTES
        words = row + np.uint64(_SIZE_BYTES)
        place = load_word(words + np.uint64(48))
        data_size = np.int64(place & _LOW)
        if begin + size > end or np.int64(place >> np.uint64(32)) != ROW_BYTES - _SIZE_BYTES:
            return -1
        if size < ROW_BYTES + data_size or load_word(words + np.uint64(16)) != np.uint64(_ANY_DRIVER):
            return -1
        if is_lz4:
            block = base + np.uint64(at)
            stored = np.int64(load_word(block + np.uint64(9)) & _LOW)
            plain = np.int64(load_word(block + np.uint64(13)) & _LOW)
            checksum = np.int64(load_word(block + np.uint64(17)) & _LOW)
            if load_word(block) != _MAGIC or (data[at + 8] & 0xF0) != _PLAIN or stored != size or plain != size:
                return -1
            if _checksum(data, begin, size) != checksum:
                return -1
        items[found, DATA], items[found, SIZE] = begin + ROW_BYTES, data_size
        items[found, ROWS] = np.int64(load_word(words + np.uint64(40)))
        items[found, SENDER] = np.int64(load_word(words + np.uint64(24)))
        items[found, SEQUENCE] = np.int64(load_word(words + np.uint64(32)))
        before = found - 1
        own = _header_bytes(data, begin + ROW_BYTES, data_size, magic)
        run_rows += items[found, ROWS]
        if found and not (
            max(data_size, items[before, SIZE]) <= RUN_DATA_BYTES
            and run_rows <= RUN_ROWS
            and items[found, SENDER] == items[before, SENDER]
            and own == header
            and _are_equal(data, begin + ROW_BYTES, items[before, DATA], own)
        ):
            run += 1
            run_rows = items[found, ROWS]
        header = own
        items[found, RUN] = run
        found += 1
        at = begin + size
    return found
