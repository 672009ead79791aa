"""Replacement of characters of any length in UTF-8 texts."""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Int32Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel


@kernel
def translate(
    offsets: Int32Array, data: UInt8Array, codes: Int32Array, starts: Int32Array, texts: UInt8Array,
    ends: Int32Array, out: UInt8Array,
) -> None:  # fmt: skip
    """Replace the characters with the code points ``codes``, which ascend, by the slices ``starts`` of ``texts``.

    ``ends`` are those of the results, shape (rows + 1,). ``out`` has room for the longest result of each character.
    """
    to = np.int64(0)
    ends[0] = 0
    for row in range(ends.shape[0] - 1):
        at, stop = np.int64(offsets[row]), np.int64(offsets[row + 1])
        while at < stop:
            code, size = np.int64(data[at]), 1
            if code >= 0xF0:
                code, size = code & 0x07, 4
            elif code >= 0xE0:
                code, size = code & 0x0F, 3
            elif code >= 0x80:
                code, size = code & 0x1F, 2
            if at + size > stop:
                size = stop - at
            for place in range(at + 1, at + size):
                code = code << 6 | np.int64(data[place]) & 0x3F
            low, high = 0, codes.shape[0]
            while low < high:
                middle = (low + high) >> 1
                if codes[middle] < code:
                    low = middle + 1
                else:
                    high = middle
            if low < codes.shape[0] and codes[low] == code:
                for place in range(starts[low], starts[low + 1]):
                    out[to] = texts[place]
                    to += 1
            else:
                for place in range(at, at + size):
                    out[to] = data[place]
                    to += 1
            at += size
        ends[row + 1] = to
