"""CRC-32 of strings, the checksum of zlib and of ``java.util.zip.CRC32``, one compiled pass."""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Int32Array, Int64Array, UInt8Array, UInt32Array
from pyspark_pipeline.kernels.jit import frozen, kernel


def _table() -> UInt32Array:
    """Return the checksums of the 256 bytes for the reflected polynomial 0xEDB88320."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(0xEDB88320), table >> 1)
    return frozen(table.astype(np.uint32))


TABLE = _table()


@kernel
def checksums(offsets: Int32Array, data: UInt8Array, table: UInt32Array, out: Int64Array) -> None:
    """Write the CRC-32 of each string, int64; ``table`` is :data:`TABLE`."""
    low = np.uint32(255)
    for row in range(out.shape[0]):
        checksum = np.uint32(0xFFFFFFFF)
        for at in range(offsets[row], offsets[row + 1]):
            checksum = table[(checksum ^ data[at]) & low] ^ (checksum >> np.uint32(8))
        out[row] = np.int64(checksum ^ np.uint32(0xFFFFFFFF))
