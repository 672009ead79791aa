"""Base64 text decoded as Java's MIME decoder does: characters outside the alphabet are skipped."""

from __future__ import annotations

import string

import numpy as np

from pyspark_pipeline.kernels.arrays import Int32Array, UInt8Array
from pyspark_pipeline.kernels.jit import frozen, kernel

_ALPHABET = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
_PADDING = -2


def _codes() -> Int32Array:
    codes = np.full(256, -1, dtype=np.int32)
    codes[[ord(character) for character in _ALPHABET]] = np.arange(64)
    codes[ord("=")] = _PADDING
    return frozen(codes)


#: The six bits of each byte of text; -1 for a byte outside the alphabet, -2 for ``=``.
CODES = _codes()

WRONG_END, FEW_BITS, AFTER_END = 1, 2, 3


@kernel
def decode(
    offsets: Int32Array, data: UInt8Array, codes: Int32Array, ends: Int32Array, out: UInt8Array
) -> tuple[int, int]:
    """Write the bytes of every text to ``out`` (uint8) and their ends to ``ends`` (int32, shape (rows + 1,)).

    Return (0, 0), or the fault of the first text that is not Base64, and its position in the text, from 1.
    """
    filled = 0
    ends[0] = 0
    for row in range(offsets.shape[0] - 1):
        at, stop = offsets[row], offsets[row + 1]
        bits = 0
        shift = 18
        while at < stop:
            code = codes[data[at]]
            at += 1
            if code >= 0:
                bits |= code << shift
                shift -= 6
                if shift < 0:
                    out[filled] = bits >> 16
                    out[filled + 1] = (bits >> 8) & 0xFF
                    out[filled + 2] = bits & 0xFF
                    filled += 3
                    bits = 0
                    shift = 18
            elif code == _PADDING:
                if shift == 18:
                    return WRONG_END, 0
                if shift == 6:
                    if at == stop or codes[data[at]] != _PADDING:
                        return WRONG_END, 0
                    at += 1
                break
        if shift == 12:
            return FEW_BITS, 0
        if shift < 12:
            out[filled] = bits >> 16
            filled += 1
        if shift == 0:
            out[filled] = (bits >> 8) & 0xFF
            filled += 1
        while at < stop:
            if codes[data[at]] >= 0:
                start = offsets[row]
                position = 0
                for byte in range(start, at + 1):
                    position += (data[byte] & 0xC0) != 0x80
                return AFTER_END, position
            at += 1
        ends[row + 1] = filled
    return 0, 0
