"""The cube root and the hypotenuse with the very bits of Java's StrictMath, by fdlibm (:mod:`~.fdlibm`)."""

from __future__ import annotations

import math

from pyspark_pipeline.kernels.arrays import Float64Array
from pyspark_pipeline.kernels.fdlibm import high_word, number_of, rounded_to_high, with_high_word
from pyspark_pipeline.kernels.jit import kernel

_NORMAL, _SUBNORMAL = 715094163, 696219795  # added to a third of the high word
_TWO_54 = 18014398509481984.0
_SCALE = 600 << 20  # of high words: 2**600


@kernel(error_model="numpy")
def cbrt(x: float) -> float:
    """Return the cube root."""
    size = abs(x)
    if not 0.0 < size < math.inf:
        return x
    word = high_word(size)
    if word < 0x00100000:
        t = _TWO_54 * size
        t = with_high_word(t, high_word(t) // 3 + _SUBNORMAL)
    else:
        t = number_of((word // 3 + _NORMAL) << 32)
    r = t * t / size
    s = 5.42857142857142815906e-01 + r * t
    t *= 3.57142857142857150787e-01 + 1.60714285714285720630e00 / (
        s + 1.41428571428571436819e00 + -7.05306122448979611050e-01 / s
    )
    t = rounded_to_high(t)
    t = with_high_word(t, high_word(t) + 1)
    s = t * t
    r = size / s
    r = (r - t) / (t + t + r)
    t = t + t * r
    return -t if x < 0 else t


@kernel(error_model="numpy")
def hypot(x: float, y: float) -> float:
    """Return the length of the vector (x, y)."""
    a, b = abs(x), abs(y)
    if math.isinf(a) or math.isinf(b):
        return math.inf
    if math.isnan(a) or math.isnan(b):
        return math.nan
    if high_word(b) > high_word(a):
        a, b = b, a
    a_word, b_word = high_word(a), high_word(b)
    if a_word - b_word > 0x3C00000:
        return a + b
    scale = 1.0
    if a_word > 0x5F300000:
        a_word -= _SCALE
        b_word -= _SCALE
        scale = 2.0**600
        a, b = with_high_word(a, a_word), with_high_word(b, b_word)
    if b_word < 0x20B00000:
        if b_word < 0x00100000:
            if b == 0:
                return a
            b *= 2.0**1022
            a *= 2.0**1022
            scale = 2.0**-1022
        else:
            a_word += _SCALE
            b_word += _SCALE
            scale = 2.0**-600
            a, b = with_high_word(a, a_word), with_high_word(b, b_word)
    w = a - b
    if w > b:
        high = number_of(a_word << 32)
        return scale * math.sqrt(high * high - (b * (-b) - (a - high) * (a + high)))
    a = a + a
    b_high = number_of(b_word << 32)
    high = number_of((a_word + 0x00100000) << 32)
    return scale * math.sqrt(high * b_high - (w * (-w) - (high * (b - b_high) + (a - high) * b)))


@kernel
def cbrt_all(data: Float64Array, out: Float64Array) -> None:
    """Write the cube root of every number, float64."""
    for row in range(out.shape[0]):
        out[row] = cbrt(data[row])


@kernel
def hypot_all(left: Float64Array, right: Float64Array, out: Float64Array) -> None:
    """Write the length of every vector, float64."""
    for row in range(out.shape[0]):
        out[row] = hypot(left[row], right[row])
