"""Numbers as texts with a comma before each three digits and a fixed number of digits after the point."""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import BoolArray, Float64Array, Int32Array, Int64Array, UInt8Array, UInt64Array
from pyspark_pipeline.kernels.jit import kernel

_COMMA, _MINUS, _POINT, _ZERO = 44, 45, 46, 48
#: The bytes of a text without its fraction: a sign, 20 digits and 6 commas.
LONGEST_WHOLE = 27
# Scaled doubles below this limit have several bits after the point.
_LARGEST = 2.0**45
_NEAR = 2.0**-47


@kernel
def round_scaled(values: Float64Array, power: float, out: UInt64Array, is_negative: BoolArray, sure: BoolArray) -> None:
    """Write the magnitudes of doubles times ``power``, rounded to integers, and their signs.

    ``sure`` is false for those that are not rounded: large and infinite ones, NaN, and those near the middle of two
    integers, of which the digits that Java prints or the exact number decide.
    """
    for row in range(values.shape[0]):
        value = values[row]
        scaled = abs(value) * power
        is_negative[row] = np.signbit(value)
        is_small = scaled < _LARGEST
        whole = np.floor(scaled) if is_small else 0.0
        rest = scaled - whole
        sure[row] = is_small and abs(rest - 0.5) > scaled * _NEAR
        out[row] = np.uint64(whole) + np.uint64(1 if rest > 0.5 else 0)


@kernel
def divide_half_even(values: Int64Array, divisor: int, out: UInt64Array) -> None:
    """Write the magnitudes of integers divided by ``divisor``, rounded half to even."""
    by = np.uint64(divisor)
    one = np.uint64(1)
    for row in range(values.shape[0]):
        value = values[row]
        magnitude = np.uint64(value) if value >= 0 else np.uint64(0) - np.uint64(value)
        quotient = magnitude // by
        rest = magnitude - quotient * by
        other = by - rest
        if rest > other or (rest == other and quotient & one):
            quotient += one
        out[row] = quotient


@kernel
def write_grouped(
    magnitudes: UInt64Array, is_negative: BoolArray, fraction: int, zeros: int, out: UInt8Array, ends: Int32Array
) -> None:
    """Write numbers whose last ``fraction`` digits follow the point, and ``zeros`` after these.

    ``out`` has room for :data:`LONGEST_WHOLE` bytes, the point and all digits after it per number.
    """
    ten = np.uint64(10)
    to = np.int64(0)
    ends[0] = 0
    for row in range(magnitudes.shape[0]):
        number = magnitudes[row]
        size = 1
        left = number // ten
        while left != np.uint64(0):
            left //= ten
            size += 1
        whole = max(size - fraction, 1)
        if is_negative[row]:
            out[to] = _MINUS
            to += 1
        end = to + whole + (whole - 1) // 3 + (1 if fraction + zeros else 0) + fraction + zeros
        at = end
        for _ in range(zeros):
            at -= 1
            out[at] = _ZERO
        for _ in range(fraction):
            at -= 1
            out[at] = _ZERO + np.int64(number % ten)
            number //= ten
        if fraction + zeros:
            at -= 1
            out[at] = _POINT
        for place in range(whole):
            if place and place % 3 == 0:
                at -= 1
                out[at] = _COMMA
            at -= 1
            out[at] = _ZERO + np.int64(number % ten)
            number //= ten
        to = end
        ends[row + 1] = to
