"""128-bit integer operations, for which numba has no type, on (low, high) pairs of 64-bit words."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from pyspark_pipeline.kernels.jit import kernel

_I128 = ir.IntType(128)
_I64 = ir.IntType(64)
_UniTuple: Any = types.UniTuple
_PAIR: Any = _UniTuple(types.int64, 2)

_M32 = np.uint64(0xFFFFFFFF)
_S32 = np.uint64(32)
_BASE = np.uint64(1 << 32)
_ZERO = np.uint64(0)
_ONE = np.uint64(1)


def _multiply_words(typing_context: Any, left: Any, right: Any) -> Any:
    signature = _PAIR(types.int64, types.int64)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        product = builder.mul(builder.sext(args[0], _I128), builder.sext(args[1], _I128))
        low = builder.trunc(product, _I64)
        high = builder.trunc(builder.lshr(product, ir.Constant(_I128, 64)), _I64)
        return context.make_tuple(builder, signature.return_type, (low, high))

    return signature, generate


#: Multiplies two int64 to the (low, high) int64 words of their exact 128-bit product.
multiply_words: Any = intrinsic(_multiply_words)


def _leading_zeros(typing_context: Any, word: Any) -> Any:
    signature = types.uint64(types.uint64)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 1))

    return signature, generate


#: Counts the zero bits above the highest one of a uint64 that is not zero.
leading_zeros: Any = intrinsic(_leading_zeros)


@kernel
def magnitude(low: int, high: int) -> tuple[np.uint64, np.uint64]:
    """Return the absolute value of a 128-bit integer as (low, high) uint64."""
    ulow = np.uint64(low)
    uhigh = np.uint64(high)
    if high < 0:
        ulow = ~ulow + _ONE
        uhigh = ~uhigh
        if ulow == _ZERO:
            uhigh = uhigh + _ONE
    return ulow, uhigh


@kernel
def signed(ulow: np.uint64, uhigh: np.uint64, negative: bool) -> tuple[int, int]:
    """Return (low, high) int64 of a magnitude and a sign; the inverse of :func:`magnitude`."""
    if negative:
        ulow = ~ulow + _ONE
        uhigh = ~uhigh
        if ulow == _ZERO:
            uhigh = uhigh + _ONE
    return np.int64(ulow), np.int64(uhigh)


@kernel
def divide_step(high: np.uint64, low: np.uint64, divisor: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Divide high*2**64 + low by ``divisor`` (all uint64, high < divisor): (quotient, remainder) uint64.

    Two 32-bit digits of Knuth's algorithm D (Hacker's Delight, divlu).
    """
    shift = leading_zeros(divisor)
    norm = divisor << shift
    v1 = norm >> _S32
    v0 = norm & _M32
    if shift != _ZERO:
        high = (high << shift) | (low >> (np.uint64(64) - shift))
        low = low << shift
    u1 = low >> _S32
    u0 = low & _M32
    q1 = high // v1
    rest = high - q1 * v1
    while q1 >= _BASE or q1 * v0 > ((rest << _S32) | u1):
        q1 = q1 - _ONE
        rest = rest + v1
        if rest >= _BASE:
            break
    middle = ((high << _S32) | u1) - q1 * norm
    q0 = middle // v1
    rest = middle - q0 * v1
    while q0 >= _BASE or q0 * v0 > ((rest << _S32) | u0):
        q0 = q0 - _ONE
        rest = rest + v1
        if rest >= _BASE:
            break
    remainder = (((middle << _S32) | u0) - q0 * norm) >> shift
    return (q1 << _S32) + q0, remainder


@kernel
def divide_half_up(ulow: np.uint64, uhigh: np.uint64, divisor: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Divide a 128-bit magnitude by a uint64, rounding halves up: (low, high) uint64."""
    if uhigh == _ZERO:
        low = ulow // divisor
        rest = ulow - low * divisor
        high = _ZERO
    else:
        high = uhigh // divisor
        low, rest = divide_step(uhigh - high * divisor, ulow, divisor)
    if rest >= divisor - rest:
        low = low + _ONE
        if low == _ZERO:
            high = high + _ONE
    return low, high
