"""Exact decimal arithmetic of any size, row by row, on little-endian limbs of 32 bits.

The fallback of ``decimal_fast`` if a batch's values do not fit 64 bits. Intermediate results have up
to 448 bits (a division's numerator needs 10**115), every rounding is HALF_UP on the magnitude, as in
Spark's ``Decimal``. Status of a row: 0 valid, 1 the result does not fit its precision, 2 an integral
quotient has more digits than Java's math context allows.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import BoolArray, Int64Array, UInt8Array, UInt64Array
from pyspark_pipeline.kernels.decimal_int128 import magnitude, signed
from pyspark_pipeline.kernels.jit import frozen, kernel

LIMBS = 14
OP_ADD, OP_MULTIPLY, OP_DIVIDE, OP_REMAINDER, OP_QUOTIENT = range(5)

_M32 = np.uint64(0xFFFFFFFF)
_S32 = np.uint64(32)
_BASE = np.uint64(1 << 32)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_TEN = np.uint64(10)
_BILLION = np.uint64(1_000_000_000)

# 10**k as limbs, k = 0 .. 115.
POWERS = frozen(
    np.array([[(10**k >> (32 * limb)) & 0xFFFFFFFF for limb in range(LIMBS)] for k in range(116)], dtype=np.uint64)
)


@kernel
def load(low: int, high: int, limbs: UInt64Array) -> bool:
    """Fill ``limbs`` with the magnitude of a 128-bit integer; return whether it was negative."""
    ulow, uhigh = magnitude(low, high)
    limbs[:] = _ZERO
    limbs[0] = ulow & _M32
    limbs[1] = ulow >> _S32
    limbs[2] = uhigh & _M32
    limbs[3] = uhigh >> _S32
    return high < 0


@kernel
def copy(limbs: UInt64Array, out: UInt64Array) -> None:
    """Copy LIMBS limbs; numba compiles this loop in a tenth of the time of a slice assignment."""
    for k in range(LIMBS):
        out[k] = limbs[k]


@kernel
def used(limbs: UInt64Array) -> int:
    """Return the number of limbs up to the highest that is not zero."""
    count = LIMBS
    while count > 0 and limbs[count - 1] == _ZERO:
        count -= 1
    return count


@kernel
def multiply(left: UInt64Array, right: UInt64Array, out: UInt64Array) -> None:
    """Set out = left * right, which must fit."""
    out[:] = _ZERO
    nleft = used(left)
    nright = used(right)
    for i in range(nleft):
        carry = _ZERO
        for j in range(nright):
            if i + j < LIMBS:
                total = out[i + j] + left[i] * right[j] + carry
                out[i + j] = total & _M32
                carry = total >> _S32
        if i + nright < LIMBS:
            out[i + nright] = carry


@kernel
def compare(left: UInt64Array, right: UInt64Array) -> int:
    """Return -1, 0 or 1 as left is less than, equal to or greater than right."""
    for k in range(LIMBS - 1, -1, -1):
        if left[k] != right[k]:
            return 1 if left[k] > right[k] else -1
    return 0


@kernel
def add(left: UInt64Array, right: UInt64Array, out: UInt64Array) -> None:
    """Set out = left + right."""
    carry = _ZERO
    for k in range(LIMBS):
        total = left[k] + right[k] + carry
        out[k] = total & _M32
        carry = total >> _S32


@kernel
def subtract(left: UInt64Array, right: UInt64Array, out: UInt64Array) -> None:
    """Set out = left - right; left must be >= right."""
    borrow = _ZERO
    for k in range(LIMBS):
        total = left[k] + _BASE - right[k] - borrow
        out[k] = total & _M32
        borrow = _ONE - (total >> _S32)


@kernel
def divide_small(limbs: UInt64Array, divisor: np.uint64) -> np.uint64:
    """Divide in place by a uint64 below 2**32; return the remainder."""
    rest = _ZERO
    for k in range(LIMBS - 1, -1, -1):
        total = (rest << _S32) | limbs[k]
        limbs[k] = total // divisor
        rest = total - limbs[k] * divisor
    return rest


@kernel
def increment(limbs: UInt64Array) -> None:
    """Add one in place."""
    for k in range(LIMBS):
        limbs[k] = (limbs[k] + _ONE) & _M32
        if limbs[k] != _ZERO:
            return


@kernel
def drop_digits(limbs: UInt64Array, digits: int) -> None:
    """Divide in place by 10**digits, rounding HALF_UP."""
    if digits <= 0:
        return
    remaining = digits - 1
    while remaining >= 9:
        divide_small(limbs, _BILLION)
        remaining -= 9
    for _ in range(remaining):
        divide_small(limbs, _TEN)
    if divide_small(limbs, _TEN) >= np.uint64(5):
        increment(limbs)


@kernel
def divide(
    numerator: UInt64Array, denominator: UInt64Array, quotient: UInt64Array, rest: UInt64Array, norm: UInt64Array
) -> None:
    """Set quotient and remainder (``rest``) of numerator / denominator (> 0): Knuth, TAOCP volume 2, algorithm D.

    ``rest`` and ``norm`` have LIMBS + 1 limbs; ``norm`` is scratch.
    """
    quotient[:] = _ZERO
    nv = used(denominator)
    nu = used(numerator)
    rest[:] = _ZERO
    copy(numerator, rest)
    if nv == 1:
        copy(numerator, quotient)
        remainder = divide_small(quotient, denominator[0])
        rest[:] = _ZERO
        rest[0] = remainder
        return
    if nu < nv:
        return
    shift = _ZERO
    while (denominator[nv - 1] << shift) & np.uint64(0x80000000) == _ZERO:
        shift = shift + _ONE
    back = _S32 - shift
    norm[:] = _ZERO
    for k in range(nv - 1, 0, -1):
        norm[k] = ((denominator[k] << shift) | (denominator[k - 1] >> back)) & _M32
    norm[0] = (denominator[0] << shift) & _M32
    for k in range(nu, 0, -1):
        rest[k] = ((rest[k] << shift) | (rest[k - 1] >> back)) & _M32
    rest[0] = (rest[0] << shift) & _M32
    for j in range(nu - nv, -1, -1):
        top = (rest[j + nv] << _S32) | rest[j + nv - 1]
        guess = top // norm[nv - 1]
        remainder = top - guess * norm[nv - 1]
        while guess >= _BASE or guess * norm[nv - 2] > ((remainder << _S32) | rest[j + nv - 2]):
            guess = guess - _ONE
            remainder = remainder + norm[nv - 1]
            if remainder >= _BASE:
                break
        borrow = _ZERO
        carry = _ZERO
        for k in range(nv):
            product = guess * norm[k] + carry
            carry = product >> _S32
            total = rest[j + k] + _BASE - (product & _M32) - borrow
            rest[j + k] = total & _M32
            borrow = _ONE - (total >> _S32)
        total = rest[j + nv] + _BASE - carry - borrow
        rest[j + nv] = total & _M32
        if total >> _S32 == _ZERO:
            guess = guess - _ONE
            carry = _ZERO
            for k in range(nv):
                total = rest[j + k] + norm[k] + carry
                rest[j + k] = total & _M32
                carry = total >> _S32
            rest[j + nv] = (rest[j + nv] + carry) & _M32
        quotient[j] = guess
    for k in range(nv):
        rest[k] = ((rest[k] >> shift) | (rest[k + 1] << back)) & _M32
    for k in range(nv, LIMBS + 1):
        rest[k] = _ZERO


@kernel
def _fits_context(quotient: UInt64Array, scratch: UInt64Array, powers: UInt64Array) -> bool:
    """Return whether the digits after the first 39 are zeros, so that Java's quotient is exact."""
    copy(quotient, scratch)
    while compare(scratch, powers[39]) >= 0:
        if divide_small(scratch, _TEN) != _ZERO:
            return False
    return True


@kernel
def evaluate(
    op: int, left: Int64Array, lstep: np.uint64, lpower: int, right: Int64Array, rstep: np.uint64, rpower: int,
    negate: bool, drop: int, precision: int, valid: BoolArray, powers: UInt64Array, out: Int64Array, status: UInt8Array,
) -> int:  # fmt: skip
    """Compute one operation for the valid rows; return the number of rows with a status other than 0.

    Inputs are first scaled to left*10**lpower and right*10**rpower; ``negate`` negates the right one; ``drop`` digits
    of the result are rounded off (HALF_UP), and it must be below 10**precision.
    """
    failures = 0
    raw, a, b = np.empty(LIMBS, np.uint64), np.empty(LIMBS, np.uint64), np.empty(LIMBS, np.uint64)
    x, y = np.empty(LIMBS, np.uint64), np.empty(LIMBS, np.uint64)
    rest, norm = np.empty(LIMBS + 1, np.uint64), np.empty(LIMBS + 1, np.uint64)
    for i in range(out.shape[0]):
        j = np.uint64(i)
        out[i, 0] = 0
        out[i, 1] = 0
        status[i] = 0
        if not valid[i]:
            continue
        lneg = load(left[j * lstep, 0], left[j * lstep, 1], raw)
        multiply(raw, powers[lpower], a)
        rneg = load(right[j * rstep, 0], right[j * rstep, 1], raw) != negate
        multiply(raw, powers[rpower], b)
        negative = lneg
        if op == OP_ADD:
            if lneg == rneg:
                add(a, b, x)
            elif compare(a, b) >= 0:
                subtract(a, b, x)
            else:
                subtract(b, a, x)
                negative = rneg
        elif op == OP_MULTIPLY:
            multiply(a, b, x)
            negative = lneg != rneg
        else:
            if used(b) == 0:
                continue
            divide(a, b, x, rest, norm)
            if op == OP_DIVIDE:
                negative = lneg != rneg
                copy(rest, y)
                add(y, y, raw)
                if compare(raw, b) >= 0:
                    increment(x)
            else:
                if compare(x, powers[39]) >= 0 and not _fits_context(x, y, powers):
                    status[i] = 2
                if op == OP_REMAINDER:
                    copy(rest, x)
                else:
                    negative = lneg != rneg
        drop_digits(x, drop)
        if compare(x, powers[precision]) >= 0 and status[i] == 0:
            status[i] = 1
        if status[i] != 0:
            failures += 1
            continue
        low = x[0] | (x[1] << _S32)
        high = x[2] | (x[3] << _S32)
        out[i, 0], out[i, 1] = signed(low, high, negative)
    return failures
