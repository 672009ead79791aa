"""Base64 text, encoded with padding, and decoded as Java's MIME decoder does: other characters are skipped."""

from __future__ import annotations

import string

import numpy as np

from pyspark_pipeline.kernels.arrays import Int32Array, Int64Array, UInt8Array
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

#: The bytes of the digits.
DIGITS = frozen(np.frombuffer(_ALPHABET.encode(), dtype=np.uint8).copy())
#: The characters of a line.
LINE = 76

WRONG_END, FEW_BITS, AFTER_END = 1, 2, 3


@kernel
def encoded_ends(offsets: Int32Array, in_lines: bool, ends: Int64Array) -> None:
    """Write the ends of the texts of byte strings, int64, shape (rows + 1,); see :func:`encode`."""
    ends[0] = 0
    for row in range(offsets.shape[0] - 1):
        size = (np.int64(offsets[row + 1]) - np.int64(offsets[row]) + 2) // 3 * 4
        breaks = (size - 1) // LINE if in_lines and size else 0
        ends[row + 1] = ends[row] + size + 2 * breaks


@kernel
def encode(offsets: Int32Array, data: UInt8Array, digits: UInt8Array, in_lines: bool, out: UInt8Array) -> None:
    """Write the texts of byte strings one after the other; ``in_lines``: in lines of :data:`LINE` characters."""
    to = np.uint64(0)
    one, two, three, six = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(63)
    for row in range(offsets.shape[0] - 1):
        at, stop = np.uint64(offsets[row]), np.uint64(offsets[row + 1])
        in_line = 0
        while at < stop:
            if in_lines and in_line == LINE:
                out[to], out[to + one] = 13, 10
                to += two
                in_line = 0
            left = stop - at
            bits = np.uint64(data[at]) << np.uint64(16)
            if left > one:
                bits |= np.uint64(data[at + one]) << np.uint64(8)
            if left > two:
                bits |= np.uint64(data[at + two])
            out[to] = digits[bits >> np.uint64(18)]
            out[to + one] = digits[(bits >> np.uint64(12)) & six]
            out[to + two] = digits[(bits >> np.uint64(6)) & six] if left > one else 61
            out[to + three] = digits[bits & six] if left > two else 61
            to += np.uint64(4)
            at += three
            in_line += 4


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
