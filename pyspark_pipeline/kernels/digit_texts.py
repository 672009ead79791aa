"""Texts of digits: Luhn's check digit, and numbers written to another base."""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import BoolArray, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.jit import kernel

#: Whether a text has a correct check digit; one that is not of ASCII characters is not decided.
WRONG, CORRECT, UNDECIDED = 0, 1, 2
_MOST = np.uint64(0xFFFFFFFFFFFFFFFF)
_SPACE, _MINUS, _ZERO, _UPPER, _LOWER = 32, 45, 48, 65, 97


@kernel
def check_digits(offsets: Int32Array, data: UInt8Array, found: UInt8Array) -> None:
    """Write for each text whether it has a correct check digit: uint8, shape (rows,)."""
    for row in range(found.shape[0]):
        first, at = np.int64(offsets[row]), np.int64(offsets[row + 1]) - 1
        total, is_second = 0, False
        verdict = WRONG if at < first else CORRECT
        while at >= first:
            digit = np.int64(data[np.uint64(at)]) - _ZERO
            if digit > 127 - _ZERO:
                verdict = UNDECIDED
                break
            if digit < 0 or digit > 9:
                verdict = WRONG
            if is_second:
                digit = 2 * digit - (9 if digit > 4 else 0)
            total += digit
            is_second = not is_second
            at -= 1
        found[row] = WRONG if verdict == CORRECT and total % 10 else verdict


@kernel
def write_in_base(
    offsets: Int32Array, data: UInt8Array, source: int, target: int, valid: BoolArray, out: UInt8Array, ends: Int32Array
) -> int:
    """Write numbers of base ``source`` in base ``target``, to a negative one as signed numbers of 64 bits.

    ``valid`` becomes false for a text without characters except spaces around. ``out`` has room for 65 bytes a row.
    Return the first row whose number does not fit 64 bits, which is written as the largest number; −1 if there is none.
    """
    overflow = np.int64(-1)
    to = np.int64(0)
    ends[0] = 0
    base, other = np.uint64(source), np.uint64(abs(target))
    for row in range(valid.shape[0]):
        at, stop = np.int64(offsets[row]), np.int64(offsets[row + 1])
        while at < stop and data[at] == _SPACE:
            at += 1
        while at < stop and data[stop - 1] == _SPACE:
            stop -= 1
        if at == stop:
            valid[row] = False
        if valid[row]:
            is_negative = data[at] == _MINUS
            at += is_negative
            number = np.uint64(0)
            while at < stop:
                byte = np.int64(data[at])
                digit = np.int64(-1)
                if _ZERO <= byte < _ZERO + 10:
                    digit = byte - _ZERO
                elif _UPPER <= byte < _UPPER + 26:
                    digit = byte - _UPPER + 10
                elif _LOWER <= byte < _LOWER + 26:
                    digit = byte - _LOWER + 10
                if digit < 0 or digit >= source:
                    break
                if number > (_MOST - np.uint64(digit)) // base:
                    number = _MOST
                    overflow = row if overflow < 0 else overflow
                    break
                number = number * base + np.uint64(digit)
                at += 1
            is_large = (number >> np.uint64(63)) != np.uint64(0)
            if is_negative and target > 0:
                number = _MOST if is_large else np.uint64(0) - number
            if target < 0 and is_large:
                number = np.uint64(0) - number
                is_negative = True
            size = 1
            left = number // other
            while left != np.uint64(0):
                left //= other
                size += 1
            if is_negative and target < 0:
                out[to] = _MINUS
                to += 1
            for place in range(to + size - 1, to - 1, -1):
                digit = np.int64(number % other)
                number //= other
                out[place] = digit + (_ZERO if digit < 10 else _UPPER - 10)
            to += size
        ends[row + 1] = to
    return overflow


@kernel
def write_bits(numbers: Int64Array, width: int, out: UInt8Array, ends: Int32Array) -> None:
    """Write the two's complement of numbers in digits of ``width`` bits, without leading zeros.

    ``out`` has room for 64 / ``width`` bytes a row; ``ends`` has shape (rows + 1,).
    """
    to = np.int64(0)
    ends[0] = 0
    step, mask = np.uint64(width), np.uint64((1 << width) - 1)
    for row in range(numbers.shape[0]):
        left = np.uint64(numbers[row]) >> step
        size = 1
        while left != np.uint64(0):
            left >>= step
            size += 1
        left = np.uint64(numbers[row])
        for place in range(to + size - 1, to - 1, -1):
            digit = np.int64(left & mask)
            left >>= step
            out[place] = digit + (_ZERO if digit < 10 else _UPPER - 10)
        to += size
        ends[row + 1] = to
