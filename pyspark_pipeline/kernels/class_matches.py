"""Replaces the characters of a set, or runs of them, in UTF-8 texts: what a pattern of one class matches."""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import BoolArray, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel


@kernel
def replaced_ends(
    offsets: Int32Array, data: UInt8Array, in_set: BoolArray, is_run: bool, size: int, ends: Int64Array
) -> None:
    """Write the ends of the texts that :func:`replace` writes with a replacement of ``size`` bytes."""
    total = np.int64(0)
    ends[0] = 0
    for row in range(offsets.shape[0] - 1):
        is_match = False
        for at in range(np.uint64(offsets[row]), np.uint64(offsets[row + 1])):
            byte = data[at]
            if byte & 0xC0 == 0x80:
                total += not is_match
            elif in_set[byte]:
                total += 0 if is_run and is_match else size
                is_match = True
            else:
                total += 1
                is_match = False
        ends[row + 1] = total


@kernel
def replace(
    offsets: Int32Array, data: UInt8Array, in_set: BoolArray, is_run: bool, by: UInt8Array, out: UInt8Array
) -> None:
    """Write texts with ``by`` in place of each character of a set, or of each run of them (``is_run``).

    ``in_set`` has the first bytes of the characters of the set: bool, shape (256,); the bytes after them follow them.
    """
    to = np.uint64(0)
    one = np.uint64(1)
    for row in range(offsets.shape[0] - 1):
        is_match = False
        for at in range(np.uint64(offsets[row]), np.uint64(offsets[row + 1])):
            byte = data[at]
            if byte & 0xC0 == 0x80:
                if not is_match:
                    out[to] = byte
                    to += one
            elif in_set[byte]:
                if not (is_run and is_match):
                    for place in range(by.shape[0]):
                        out[to] = by[place]
                        to += one
                is_match = True
            else:
                out[to] = byte
                to += one
                is_match = False
