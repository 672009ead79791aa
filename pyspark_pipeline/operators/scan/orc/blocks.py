"""The bytes of an ORC file as they are after decompression.

A stream is a sequence of chunks: a header of 3 bytes, the lowest first, whose lowest bit says that the chunk is stored
as it is, and whose other bits are its length. A file without compression has no chunks.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels import orc_runs
from pyspark_pipeline.kernels.arrays import UInt8Array
from pyspark_pipeline.operators.scan.orc.protobuf import varint

_HEADER_BYTES = 3


def _zlib(chunk: bytes) -> bytes:
    return zlib.decompress(chunk, -zlib.MAX_WBITS)


def _snappy(chunk: bytes) -> bytes:
    size, _ = varint(memoryview(chunk), 0)
    found: bytes = pa.Codec("snappy").decompress(chunk, size, asbytes=True)
    return found


def _lz4(chunk: bytes) -> bytes:
    size = orc_runs.lz4_size(padded(chunk), len(chunk))
    if size < 0:
        raise ValueError("a block of LZ4 is damaged")
    found: bytes = pa.Codec("lz4_raw").decompress(chunk, size, asbytes=True)
    return found


def _zstd(chunk: bytes) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(chunk), "zstd") as stream:
        found: bytes = stream.read()
    return found


#: The kinds of compression by their numbers in the file; None for no compression. 3 is LZO, 6 Brotli.
CODECS: dict[int, Callable[[bytes], bytes] | None] = {0: None, 1: _zlib, 2: _snappy, 4: _lz4, 5: _zstd}


def decompressed(data: bytes, kind: int) -> bytes:
    """Return the bytes of a stream; raise ``ValueError``, ``zlib.error`` or an error of Arrow if it is damaged."""
    if kind not in CODECS:
        raise ValueError(f"the compression {kind} is unknown")
    codec = CODECS[kind]
    if codec is None:
        return data
    parts, at = [], 0
    while at < len(data):
        header = int.from_bytes(data[at : at + _HEADER_BYTES], "little")
        at += _HEADER_BYTES
        chunk = data[at : at + (header >> 1)]
        if len(chunk) != header >> 1:
            raise ValueError("a chunk is cut off")
        parts.append(chunk if header & 1 else codec(chunk))
        at += len(chunk)
    return b"".join(parts)


def padded(data: bytes) -> UInt8Array:
    """Return the bytes as the kernels read them: uint8, shape (bytes + ``PADDING``,)."""
    found = np.zeros(len(data) + orc_runs.PADDING, dtype=np.uint8)
    found[: len(data)] = np.frombuffer(data, dtype=np.uint8)
    return found
