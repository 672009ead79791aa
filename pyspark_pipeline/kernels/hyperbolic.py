"""expm1, log1p and the hyperbolic functions with the very bits of Java's StrictMath, by fdlibm (:mod:`~.fdlibm`).

The inverse hyperbolic functions are Spark's own formulas over StrictMath.
"""

from __future__ import annotations

import math

import numpy as np

from pyspark_pipeline.kernels.arrays import Float64Array
from pyspark_pipeline.kernels.fdlibm import bits_of, exp, high_word, log, number_of, with_high_word
from pyspark_pipeline.kernels.jit import kernel

_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_INVERSE_LN2, _LN_2 = 1.44269504088896338700e00, 0.6931471805599453
_Q1, _Q2, _Q3 = -3.33333333333331316428e-02, 1.58730158725481460165e-03, -7.93650757867487942473e-05
_Q4, _Q5 = 4.00821782732936239552e-06, -2.01099218183624371326e-07
_L1, _L2, _L3, _L4 = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
)
_L5, _L6, _L7 = 1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01
_LARGEST_EXPONENT = 7.09782712893383973096e02
_OVERFLOW_BITS = 0x408633CE8FB9F87D  # of the largest number whose hyperbolic sine is finite
_ROOT_OF_LARGEST, _LARGE = 1.3407807929942596e154, 268435456.0


@kernel(error_model="numpy")
def expm1(x: float) -> float:
    """Return e**x - 1."""
    if math.isnan(x) or x > _LARGEST_EXPONENT:
        return x if math.isnan(x) else math.inf
    word = high_word(abs(x))
    if x < 0 and word >= 0x4043687A:
        return -1.0
    k = 0
    c = 0.0
    if word > 0x3FD62E42:
        if word < 0x3FF0A2B2:
            k = 1 if x > 0 else -1
        else:
            k = int(_INVERSE_LN2 * x + (0.5 if x > 0 else -0.5))
        high, low = x - k * _LN2_HIGH, k * _LN2_LOW
        x = high - low
        c = (high - x) - low
    elif word < 0x3C900000:
        return x
    half = 0.5 * x
    square = x * half
    r = 1.0 + square * (_Q1 + square * (_Q2 + square * (_Q3 + square * (_Q4 + square * _Q5))))
    t = 3.0 - r * half
    e = square * ((r - t) / (6.0 - x * t))
    if k == 0:
        return x - (x * e - square)
    e = x * (e - c) - c - square
    if k == -1:
        return 0.5 * (x - e) - 0.5
    if k == 1:
        return -2.0 * (e - (x + 0.5)) if x < -0.25 else 1.0 + 2.0 * (x - e)
    if k <= -2 or k > 56:
        y = 1.0 - (e - x)
        return with_high_word(y, high_word(y) + (k << 20)) - 1.0
    if k < 20:
        y = number_of((0x3FF00000 - (0x200000 >> k)) << 32) - (e - x)
    else:
        y = x - (e + number_of((0x3FF - k) << 52)) + 1.0
    return with_high_word(y, high_word(y) + (k << 20))


@kernel(error_model="numpy")
def log1p(x: float) -> float:
    """Return the natural logarithm of 1 + x."""
    if not -1.0 < x < math.inf:
        if x == -1.0:
            return -math.inf
        return math.nan if x < 0 else x
    word = high_word(x)
    size = word & 0x7FFFFFFF
    k = 1
    f = c = 0.0
    upper = 1
    if word < 0x3FDA827A:
        if size < 0x3E200000:
            return x if size < 0x3C900000 else x - x * x * 0.5
        if word > 0 or size <= 0x3FD2BEC3:
            k = 0
            f = x
    if k != 0:
        u = x
        if word < 0x43400000:
            u = 1.0 + x
            k = (high_word(u) >> 20) - 1023
            c = (1.0 - (u - x) if k > 0 else x - (u - 1.0)) / u
        else:
            k = (high_word(u) >> 20) - 1023
        upper = high_word(u) & 0x000FFFFF
        if upper < 0x6A09E:
            u = with_high_word(u, upper | 0x3FF00000)
        else:
            k += 1
            u = with_high_word(u, upper | 0x3FE00000)
            upper = (0x00100000 - upper) >> 2
        f = u - 1.0
    half = 0.5 * f * f
    power = np.float64(k)
    if upper == 0:
        if f == 0:
            return 0.0 if k == 0 else power * _LN2_HIGH + (c + power * _LN2_LOW)
        rest = half * (1.0 - 0.66666666666666666 * f)
        return f - rest if k == 0 else power * _LN2_HIGH - ((rest - (power * _LN2_LOW + c)) - f)
    s = f / (2.0 + f)
    z = s * s
    rest = z * (_L1 + z * (_L2 + z * (_L3 + z * (_L4 + z * (_L5 + z * (_L6 + z * _L7))))))
    if k == 0:
        return f - (half - s * (half + rest))
    return power * _LN2_HIGH - ((half - (s * (half + rest) + (power * _LN2_LOW + c))) - f)


@kernel
def large(x: float) -> float:
    """Return half of e**x for x of at least 22."""
    if high_word(x) < 0x40862E42:
        return 0.5 * exp(x)
    if bits_of(x) <= _OVERFLOW_BITS:
        root = exp(0.5 * x)
        return 0.5 * root * root
    return math.inf


@kernel(error_model="numpy")
def sinh(x: float) -> float:
    """Return the hyperbolic sine."""
    size = abs(x)
    if not size < math.inf or size < 3.725290298461914e-09:
        return x
    sign = -1.0 if x < 0 else 1.0
    if size >= 22.0:
        return sign * large(size)
    t = expm1(size)
    return sign * 0.5 * (2.0 * t - t * t / (t + 1.0) if size < 1.0 else t + t / (t + 1.0))


@kernel(error_model="numpy")
def cosh(x: float) -> float:
    """Return the hyperbolic cosine."""
    size = abs(x)
    if not size < math.inf or size >= 22.0:
        return large(size) if size < math.inf else size
    if high_word(size) < 0x3FD62E43:
        t = expm1(size)
        w = 1.0 + t
        return w if high_word(size) < 0x3C800000 else 1.0 + (t * t) / (w + w)
    t = exp(size)
    return 0.5 * t + 0.5 / t


@kernel(error_model="numpy")
def tanh(x: float) -> float:
    """Return the hyperbolic tangent."""
    size = abs(x)
    if math.isnan(x) or size < 2.7755575615628914e-17:
        return x if math.isnan(x) or size == 0 else x * (1.0 + x)
    if size >= 22.0:
        z = 1.0
    elif size >= 1.0:
        z = 1.0 - 2.0 / (expm1(2.0 * size) + 2.0)
    else:
        t = expm1(-2.0 * size)
        z = -t / (t + 2.0)
    return -z if x < 0 else z


@kernel(error_model="numpy")
def asinh(x: float, by_size: bool) -> float:
    """Return the inverse hyperbolic sine, by one formula but for huge numbers (Spark 4.1) or ``by_size`` (4.3)."""
    size = abs(x)
    if size > _LARGE if by_size else size >= _ROOT_OF_LARGEST:
        return math.copysign(log(size) + _LN_2, x)
    if not by_size:
        return log(x + math.sqrt(x * x + 1.0))
    if not size >= 3.725290298461914e-09:
        return x
    if size > 2.0:
        return math.copysign(log(2.0 * size + 1.0 / (math.sqrt(x * x + 1.0) + size)), x)
    t = x * x
    return math.copysign(log1p(size + t / (1.0 + math.sqrt(1.0 + t))), x)


@kernel(error_model="numpy")
def acosh(x: float, by_size: bool) -> float:
    """Return the inverse hyperbolic cosine, by one formula but for huge numbers (Spark 4.1) or ``by_size`` (4.3)."""
    if not x >= 1.0:
        return math.nan
    if x >= (_LARGE if by_size else _ROOT_OF_LARGEST):
        return log(x) + _LN_2
    if not by_size:
        return log(x + math.sqrt(x * x - 1.0))
    if x > 2.0:
        return log(2.0 * x - 1.0 / (x + math.sqrt(x * x - 1.0)))
    t = x - 1.0
    return log1p(t + math.sqrt(2.0 * t + t * t))


@kernel(error_model="numpy")
def atanh(x: float) -> float:
    """Return the inverse hyperbolic tangent as Spark computes it."""
    return 0.5 * (log1p(x) - log1p(-x))


@kernel
def expm1_all(data: Float64Array, out: Float64Array) -> None:
    """Write e**x - 1 of every number, float64."""
    for row in range(out.shape[0]):
        out[row] = expm1(data[row])


@kernel
def log1p_all(data: Float64Array, out: Float64Array) -> None:
    """Write the natural logarithm of 1 + x of every number, float64."""
    for row in range(out.shape[0]):
        out[row] = log1p(data[row])


@kernel
def sinh_all(data: Float64Array, out: Float64Array) -> None:
    """Write the hyperbolic sine of every number, float64."""
    for row in range(out.shape[0]):
        out[row] = sinh(data[row])


@kernel
def cosh_all(data: Float64Array, out: Float64Array) -> None:
    """Write the hyperbolic cosine of every number, float64."""
    for row in range(out.shape[0]):
        out[row] = cosh(data[row])


@kernel
def tanh_all(data: Float64Array, out: Float64Array) -> None:
    """Write the hyperbolic tangent of every number, float64."""
    for row in range(out.shape[0]):
        out[row] = tanh(data[row])


@kernel
def asinh_all(data: Float64Array, by_size: bool, out: Float64Array) -> None:
    """Write the inverse hyperbolic sine of every number, float64."""
    for row in range(out.shape[0]):
        out[row] = asinh(data[row], by_size)


@kernel
def acosh_all(data: Float64Array, by_size: bool, out: Float64Array) -> None:
    """Write the inverse hyperbolic cosine of every number, float64."""
    for row in range(out.shape[0]):
        out[row] = acosh(data[row], by_size)


@kernel
def atanh_all(data: Float64Array, out: Float64Array) -> None:
    """Write the inverse hyperbolic tangent of every number, float64."""
    for row in range(out.shape[0]):
        out[row] = atanh(data[row])
