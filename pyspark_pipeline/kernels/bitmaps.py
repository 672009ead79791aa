"""Kernels of BITMAP_CONSTRUCT_AGG, BITMAP_OR_AGG and BITMAP_AND_AGG: bitmaps of 4096 bytes, bit 0 of byte 0 first."""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.murmur3 import is_valid

#: Bytes of a bitmap.
BITMAP_BYTES = 4096


@kernel
def set_bits(groups: Int64Array, positions: Int64Array, bitmap: UInt8Array, skip: int, bitmaps: UInt8Array) -> int:
    """Set the bits at ``positions`` (int64); return the first row whose position lies beyond the bitmap, or −1."""
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            at = positions[row]
            if at < 0 or at >= 8 * BITMAP_BYTES:
                return row
            bitmaps[groups[row] * BITMAP_BYTES + (at >> 3)] |= np.uint8(1 << (at & 7))
    return -1


@kernel
def or_bitmaps(
    groups: Int64Array, offsets: Int32Array, data: UInt8Array, bitmap: UInt8Array, skip: int, bitmaps: UInt8Array
) -> None:
    """Add the bits of the first 4096 bytes of each row."""
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            start = offsets[row]
            first = groups[row] * BITMAP_BYTES
            for i in range(min(offsets[row + 1] - start, BITMAP_BYTES)):
                bitmaps[first + i] |= data[start + i]


@kernel
def unset_bitmaps(
    groups: Int64Array, offsets: Int32Array, data: UInt8Array, bitmap: UInt8Array, skip: int, bitmaps: UInt8Array
) -> None:
    """Add the bits that are not set in the first 4096 bytes of each row, which zeros follow."""
    for row in range(groups.size):
        if is_valid(bitmap, skip, row):
            start = offsets[row]
            first = groups[row] * BITMAP_BYTES
            size = min(offsets[row + 1] - start, BITMAP_BYTES)
            for i in range(size):
                bitmaps[first + i] |= data[start + i] ^ np.uint8(255)
            for i in range(size, BITMAP_BYTES):
                bitmaps[first + i] = 255
