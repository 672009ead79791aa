"""Decimal arithmetic for batches whose unscaled values fit 64 bits: a kernel computes all rows or reports failure.

Every kernel reads words of shape (rows, 2) with a uint64 step (0 for a scalar), writes ``out`` of shape
(rows, 2) and returns whether every row was inside the given limits. After False the content of
``out`` is undefined and the caller uses the exact wide kernel (``decimal_wide``). Values of NULL rows are
computed like others; at worst they disable the fast path, but never change a result.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import Array, BoolArray, Float64Array, Int64Array
from pyspark_pipeline.kernels.decimal_int128 import divide_half_up, magnitude, multiply_words, signed
from pyspark_pipeline.kernels.jit import frozen, kernel
from pyspark_pipeline.kernels.wrapping import wrapping_add, wrapping_multiply, wrapping_subtract


@kernel
def add_plain(
    left: Int64Array, lstep: np.uint64, right: Int64Array, rstep: np.uint64, flip: int, out: Int64Array
) -> bool:
    """Compute left + right (``flip`` 0) or left - right (``flip`` -1); inputs and results must fit 64 bits."""
    high = 0
    overflow = 0
    for i in range(out.shape[0]):
        j = np.uint64(i)
        a = left[j * lstep, 0]
        b = right[j * rstep, 0]
        high |= (left[j * lstep, 1] ^ (a >> 63)) | (right[j * rstep, 1] ^ (b >> 63))
        c = b ^ flip
        total = wrapping_subtract(wrapping_add(a, c), flip)
        overflow |= (a ^ total) & (c ^ total)
        out[i, 0] = total
        out[i, 1] = total >> 63
    return high == 0 and overflow >= 0


@kernel
def add_scaled(
    left: Int64Array, lstep: np.uint64, right: Int64Array, rstep: np.uint64, lfactor: int, rfactor: int, llimit: int,
    rlimit: int, bound: int, out: Int64Array,
) -> bool:  # fmt: skip
    """Compute left*lfactor + right*rfactor; inputs must be inside ±limit, results inside ±bound (exclusive)."""
    bad = 0
    for i in range(out.shape[0]):
        j = np.uint64(i)
        a = left[j * lstep, 0]
        b = right[j * rstep, 0]
        bad |= (left[j * lstep, 1] ^ (a >> 63)) | (right[j * rstep, 1] ^ (b >> 63))
        bad |= (a > llimit) | (a < -llimit) | (b > rlimit) | (b < -rlimit)
        total = wrapping_add(wrapping_multiply(a, lfactor), wrapping_multiply(b, rfactor))
        bad |= (total >= bound) | (total <= -bound)
        out[i, 0] = total
        out[i, 1] = total >> 63
    return bad == 0


@kernel
def multiply_narrow(left: Int64Array, lstep: np.uint64, right: Int64Array, rstep: np.uint64, out: Int64Array) -> bool:
    """Compute left*right for types that guarantee a 64-bit product; only the inputs are checked for 64 bits."""
    bad = 0
    for i in range(out.shape[0]):
        j = np.uint64(i)
        a = left[j * lstep, 0]
        b = right[j * rstep, 0]
        bad |= (left[j * lstep, 1] ^ (a >> 63)) | (right[j * rstep, 1] ^ (b >> 63))
        product = wrapping_multiply(a, b)
        out[i, 0] = product
        out[i, 1] = product >> 63
    return bad == 0


@kernel
def multiply_exact(left: Int64Array, lstep: np.uint64, right: Int64Array, rstep: np.uint64, out: Int64Array) -> bool:
    """Compute the 128-bit products left*right of 64-bit inputs (always below 10**38)."""
    bad = 0
    for i in range(out.shape[0]):
        j = np.uint64(i)
        a = left[j * lstep, 0]
        b = right[j * rstep, 0]
        bad |= (left[j * lstep, 1] ^ (a >> 63)) | (right[j * rstep, 1] ^ (b >> 63))
        low, high = multiply_words(a, b)
        out[i, 0] = low
        out[i, 1] = high
    return bad == 0


@kernel
def multiply_rounded(
    left: Int64Array, lstep: np.uint64, right: Int64Array, rstep: np.uint64, divisor: np.uint64, out: Int64Array
) -> bool:
    """Compute left*right / divisor (uint64), halves away from zero, for 64-bit inputs."""
    for i in range(out.shape[0]):
        j = np.uint64(i)
        a = left[j * lstep, 0]
        b = right[j * rstep, 0]
        if (left[j * lstep, 1] ^ (a >> 63)) | (right[j * rstep, 1] ^ (b >> 63)):
            return False
        low, high = multiply_words(a, b)
        ulow, uhigh = magnitude(low, high)
        ulow, uhigh = divide_half_up(ulow, uhigh, divisor)
        out[i, 0], out[i, 1] = signed(ulow, uhigh, high < 0)
    return True


@kernel
def divide_rounded(
    left: Int64Array, lstep: np.uint64, right: Int64Array, rstep: np.uint64, factor: int, out: Int64Array
) -> bool:
    """Compute left*factor / right, halves away from zero, for 64-bit inputs (quotients are below 10**38).

    The result for a zero divisor is zero: the caller sets those rows to NULL.
    """
    for i in range(out.shape[0]):
        j = np.uint64(i)
        a = left[j * lstep, 0]
        b = right[j * rstep, 0]
        if (left[j * lstep, 1] ^ (a >> 63)) | (right[j * rstep, 1] ^ (b >> 63)):
            return False
        if b == 0:
            out[i, 0] = 0
            out[i, 1] = 0
            continue
        low, high = multiply_words(a, factor)
        ulow, uhigh = magnitude(low, high)
        divisor = np.uint64(b)
        if b < 0:
            divisor = np.uint64(wrapping_subtract(0, b))
        ulow, uhigh = divide_half_up(ulow, uhigh, divisor)
        out[i, 0], out[i, 1] = signed(ulow, uhigh, (high < 0) != (b < 0))
    return True


@kernel
def remainder_scaled(
    left: Int64Array, lstep: np.uint64, right: Int64Array, rstep: np.uint64, lfactor: int, rfactor: int, llimit: int,
    rlimit: int, out: Int64Array,
) -> bool:  # fmt: skip
    """Compute left*lfactor % right*rfactor with the sign of the dividend; inputs must be inside ±limit."""
    for i in range(out.shape[0]):
        j = np.uint64(i)
        a = left[j * lstep, 0]
        b = right[j * rstep, 0]
        if (left[j * lstep, 1] ^ (a >> 63)) | (right[j * rstep, 1] ^ (b >> 63)):
            return False
        if a > llimit or a < -llimit or b > rlimit or b < -rlimit:
            return False
        divisor = abs(b) * rfactor
        remainder = 0
        if divisor != 0:
            remainder = (abs(a) * lfactor) % divisor
        if a < 0:
            remainder = -remainder
        out[i, 0] = remainder
        out[i, 1] = remainder >> 63
    return True


@kernel
def rescale_down(left: Int64Array, divisor: int, bound: int, out: Int64Array) -> bool:
    """Compute left / divisor, halves away from zero, for 64-bit inputs and results inside ±bound."""
    bad = 0
    half = divisor >> 1
    for i in range(out.shape[0]):
        a = left[i, 0]
        bad |= left[i, 1] ^ (a >> 63)
        quotient = a // divisor
        remainder = a - quotient * divisor
        # Floor division: a negative value rounds up only if its remainder is strictly above the half.
        if remainder > half or (remainder == half and a >= 0):
            quotient += 1
        bad |= (quotient >= bound) | (quotient <= -bound)
        out[i, 0] = quotient
        out[i, 1] = quotient >> 63
    return bad == 0


#: Modes of :func:`round_words`: halves away from zero, halves to the even neighbour, towards -infinity, +infinity.
HALF_UP, HALF_EVEN, DOWN, UP = range(4)


@kernel
def round_words(values: Int64Array, divisor: int, factor: int, limit: int, mode: int, out: Int64Array) -> bool:
    """Compute values / divisor (a power of ten above 1), rounded by ``mode``, times ``factor``, for 64-bit values.

    The rounded quotients must be inside ±limit (inclusive), so that the products fit 64 bits.
    """
    bad = 0
    half = divisor >> 1
    for i in range(out.shape[0]):
        a = values[i, 0]
        bad |= values[i, 1] ^ (a >> 63)
        quotient = a // divisor
        rest = a - quotient * divisor  # not negative: the quotient is rounded down
        if mode == HALF_UP:
            quotient += (rest > half) | ((rest == half) & (a >= 0))
        elif mode == HALF_EVEN:
            quotient += (rest > half) | ((rest == half) & ((quotient & 1) == 1))
        elif mode == UP:
            quotient += rest > 0
        bad |= (quotient > limit) | (quotient < -limit)
        scaled = wrapping_multiply(quotient, factor)
        out[i, 0] = scaled
        out[i, 1] = scaled >> 63
    return bad == 0


@kernel
def widen_integers(values: Array, factor: int, limit: int, out: Int64Array) -> bool:
    """Compute values*factor of an integer array (any width); values must be inside ±limit (inclusive)."""
    bad = 0
    for i in range(out.shape[0]):
        a = np.int64(values[i])
        bad |= (a > limit) | (a < -limit)
        scaled = wrapping_multiply(a, factor)
        out[i, 0] = scaled
        out[i, 1] = scaled >> 63
    return bad == 0


@kernel
def to_doubles(values: Int64Array, power: float, out: Float64Array) -> bool:
    """Divide by ``power`` (a power of ten that is an exact double); return False if a value has more than 53 bits."""
    bad = 0
    for i in range(out.shape[0]):
        a = values[i, 0]
        bad |= values[i, 1] ^ (a >> 63)
        bad |= (a > 9007199254740992) | (a < -9007199254740992)
        out[i] = np.float64(a) / power
    return bad == 0


@kernel
def zero_nulls(values: Int64Array, step: np.uint64, valid: BoolArray, out: Int64Array) -> None:
    """Copy words, with zeros in the rows that are not valid."""
    for i in range(out.shape[0]):
        j = np.uint64(i)
        keep = np.int64(0)
        if valid[i]:
            keep = np.int64(-1)
        out[i, 0] = values[j * step, 0] & keep
        out[i, 1] = values[j * step, 1] & keep


def zeroed(words: Int64Array, step: np.uint64, valid: BoolArray) -> tuple[Int64Array, np.uint64]:
    """Return (words, step) with zeros in the rows that are not valid; a scalar (step 0) is unchanged."""
    if step == 0:
        return words, step
    clean = np.empty_like(words)
    zero_nulls(words, step, valid, clean)
    return frozen(clean), step
