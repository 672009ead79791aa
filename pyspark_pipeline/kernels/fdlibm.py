"""exp, log, log10 and pow with the very bits of Java's StrictMath, which Spark calls for them.

Java specifies StrictMath by fdlibm, the freely distributable library of Sun Microsystems (1993): its reductions,
coefficients and order of operations decide the last bit, so they are the ones used here. Other libraries
(the C library's, numpy's) round some results differently.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from pyspark_pipeline.kernels.arrays import Float64Array
from pyspark_pipeline.kernels.jit import kernel


def _bits_of(typing_context: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), generate


def _number_of(typing_context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), generate


#: Returns the bits of a double as int64, and the double of such bits.
bits_of: Any = intrinsic(_bits_of)
number_of: Any = intrinsic(_number_of)

_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_INVERSE_LN2 = 1.44269504088896338700e00
_E1, _E2, _E3 = 1.66666666666666019037e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05
_E4, _E5 = -1.65339022054652515390e-06, 4.13813679705723846039e-08
_G1, _G2, _G3, _G4 = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
)
_G5, _G6, _G7 = 1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01
_TWO_54 = 18014398509481984.0
_TWO_MINUS_1000 = 2.0**-1000
_LOW_WORD = -0x100000000  # the mask of the high 32 bits


@kernel
def high_word(number: float) -> int:
    """Return the sign, the exponent and the first 20 bits of the mantissa as an integer of 32 bits."""
    return bits_of(number) >> 32


@kernel
def with_high_word(number: float, word: int) -> float:
    """Return the number with other high bits."""
    return number_of((bits_of(number) & 0xFFFFFFFF) | (word << 32))


@kernel
def rounded_to_high(number: float) -> float:
    """Return the number without the low 32 bits of its mantissa."""
    return number_of(bits_of(number) & _LOW_WORD)


@kernel
def exponential_rest(t: float) -> float:
    """Return the polynomial in t = x**2 that both exponentials use."""
    return t * (_E1 + t * (_E2 + t * (_E3 + t * (_E4 + t * _E5))))


@kernel
def exp(x: float) -> float:
    """Return e**x."""
    if math.isnan(x):
        return x
    if x > 7.09782712893383973096e02:
        return math.inf
    if x < -7.45133219101941108420e02:
        return 0.0
    size = high_word(x) & 0x7FFFFFFF
    k = 0
    high = low = 0.0
    if size > 0x3FD62E42:
        if size < 0x3FF0A2B2:
            k = 1 if x > 0 else -1
            high, low = x - k * _LN2_HIGH, k * _LN2_LOW
        else:
            k = int(_INVERSE_LN2 * x + (0.5 if x > 0 else -0.5))
            high, low = x - k * _LN2_HIGH, k * _LN2_LOW
        x = high - low
    elif size < 0x3E300000:
        return 1.0 + x
    c = x - exponential_rest(x * x)
    if k == 0:
        return 1.0 - ((x * c) / (c - 2.0) - x)
    y = 1.0 - ((low - (x * c) / (2.0 - c)) - high)
    if k >= -1021:
        return with_high_word(y, high_word(y) + (k << 20))
    return with_high_word(y, high_word(y) + ((k + 1000) << 20)) * _TWO_MINUS_1000


@kernel
def special_logarithm(x: float) -> float:
    """Return the logarithm of zero, of a negative number, of infinity or of NaN."""
    if x == 0:
        return -math.inf
    return math.nan if x < 0 else x


@kernel
def normalized(x: float) -> tuple[float, int]:
    """Return a positive finite number as one that is not subnormal, and its power of two."""
    shift = 0
    if x < 2.2250738585072014e-308:
        shift = -54
        x *= _TWO_54
    return x, shift + (high_word(x) >> 20) - 1023


@kernel
def log(x: float) -> float:
    """Return the natural logarithm."""
    if not 0 < x < math.inf:
        return special_logarithm(x)
    x, k = normalized(x)
    word = high_word(x)
    word &= 0x000FFFFF
    upper = (word + 0x95F64) & 0x100000
    x = with_high_word(x, word | (upper ^ 0x3FF00000))
    k += upper >> 20
    f = x - 1.0
    power = np.float64(k)
    if (0x000FFFFF & (2 + word)) < 3:
        if f == 0:
            return 0.0 if k == 0 else power * _LN2_HIGH + power * _LN2_LOW
        rest = f * f * (0.5 - 0.33333333333333333 * f)
        return f - rest if k == 0 else power * _LN2_HIGH - ((rest - power * _LN2_LOW) - f)
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    first = w * (_G2 + w * (_G4 + w * _G6))
    second = z * (_G1 + w * (_G3 + w * (_G5 + w * _G7)))
    rest = second + first
    if (word - 0x6147A) | (0x6B851 - word) > 0:
        half = 0.5 * f * f
        if k == 0:
            return f - (half - s * (half + rest))
        return power * _LN2_HIGH - ((half - (s * (half + rest) + power * _LN2_LOW)) - f)
    if k == 0:
        return f - s * (f - rest)
    return power * _LN2_HIGH - ((s * (f - rest) - power * _LN2_LOW) - f)


@kernel
def log10(x: float) -> float:
    """Return the logarithm to the base 10."""
    if not 0 < x < math.inf:
        return special_logarithm(x)
    x, k = normalized(x)
    word = high_word(x)
    below_one = 1 if k < 0 else 0
    x = with_high_word(x, (word & 0x000FFFFF) | ((0x3FF - below_one) << 20))
    y = np.float64(k + below_one)
    z = y * 3.69423907715893078616e-13 + 4.34294481903251816668e-01 * log(x)
    return z + y * 3.01029995663611771306e-01


@kernel
def parity(y: float) -> int:
    """Return 1 for an odd whole number, 2 for an even one, 0 for another number."""
    if abs(y) >= 9007199254740992.0:
        return 2
    if y != np.floor(y):
        return 0
    return 1 if int(y) & 1 else 2


@kernel
def logarithm_of(x: float) -> tuple[float, float]:
    """Return the logarithm to the base 2 of a positive finite number as the sum of two doubles."""
    n = 0
    word = high_word(x)
    if word < 0x00100000:
        x *= 9007199254740992.0
        n = -53
        word = high_word(x)
    n += (word >> 20) - 0x3FF
    fraction = word & 0x000FFFFF
    word = fraction | 0x3FF00000
    is_upper = 0
    if fraction > 0x3988E:
        if fraction < 0xBB67A:
            is_upper = 1
        else:
            n += 1
            word -= 0x00100000
    base = 1.5 if is_upper else 1.0
    base_high = 5.84962487220764160156e-01 if is_upper else 0.0
    base_low = 1.35003920212974897128e-08 if is_upper else 0.0
    x = with_high_word(x, word)
    u = x - base
    v = 1.0 / (x + base)
    ss = u * v
    s_high = rounded_to_high(ss)
    t_high = number_of((((word >> 1) | 0x20000000) + 0x00080000 + (is_upper << 18)) << 32)
    t_low = x - (t_high - base)
    s_low = v * ((u - s_high * t_high) - s_high * t_low)
    s2 = ss * ss
    r = (
        s2
        * s2
        * (
            5.99999999999994648725e-01
            + s2
            * (
                4.28571428578550184252e-01
                + s2
                * (
                    3.33333329818377432918e-01
                    + s2
                    * (2.72728123808534006489e-01 + s2 * (2.30660745775561754067e-01 + s2 * 2.06975017800338417784e-01))
                )
            )
        )
    )
    r += s_low * (s_high + ss)
    s2 = s_high * s_high
    t_high = rounded_to_high(3.0 + s2 + r)
    t_low = r - ((t_high - 3.0) - s2)
    u = s_high * t_high
    v = s_low * t_high + t_low * ss
    p_high = rounded_to_high(u + v)
    p_low = v - (p_high - u)
    z_high = 9.61796700954437255859e-01 * p_high
    z_low = -7.02846165095275826516e-09 * p_high + p_low * 9.61796693925975554329e-01 + base_low
    power = np.float64(n)
    high = rounded_to_high(((z_high + z_low) + base_high) + power)
    low = z_low - (((high - power) - base_high) - z_high)
    return high, low


@kernel
def logarithm_near_one(x: float) -> tuple[float, float]:
    """Return the logarithm to the base 2 of a number within 2**-20 of 1 as the sum of two doubles."""
    t = x - 1.0
    w = (t * t) * (0.5 - t * (0.3333333333333333333333 - t * 0.25))
    u = 1.44269502162933349609e00 * t
    v = t * 1.92596299112661746887e-08 - w * _INVERSE_LN2
    high = rounded_to_high(u + v)
    return high, v - (high - u)


@kernel
def power_of_two(high: float, low: float) -> float:
    """Return 2**(high + low), 0 and infinity beyond the range of doubles."""
    z = low + high
    bits = bits_of(z)
    if z > 1024.0 or (z == 1024.0 and low + 8.0085662595372944372e-0017 > z - high):
        return math.inf
    if z < -1075.0 or (z == -1075.0 and low <= z - high):
        return 0.0
    word = bits >> 32
    n = 0
    size = word & 0x7FFFFFFF
    if size > 0x3FE00000:
        n = word + (0x00100000 >> ((size >> 20) - 0x3FF + 1))
        k = ((n & 0x7FFFFFFF) >> 20) - 0x3FF
        whole = number_of((n & ~(0x000FFFFF >> k)) << 32)
        n = ((n & 0x000FFFFF) | 0x00100000) >> (20 - k)
        if z < 0:
            n = -n
        high -= whole
    t = rounded_to_high(low + high)
    u = t * 6.93147182464599609375e-01
    v = (low - (t - high)) * 6.93147180559945286227e-01 + t * -1.90465429995776804525e-09
    z = u + v
    w = v - (z - u)
    c = z - exponential_rest(z * z)
    r = (z * c) / (c - 2.0) - (w + z * w)
    z = 1.0 - (r - z)
    word = high_word(z) + (n << 20)
    if (word >> 20) <= 0:
        return math.ldexp(z, n)
    return with_high_word(z, word)


@kernel(error_model="numpy")
def pow(x: float, y: float) -> float:
    """Return x**y."""
    if y == 0:
        return 1.0
    if math.isnan(x) or math.isnan(y):
        return x + y
    size = abs(x)
    if math.isinf(y):
        if size == 1:
            return math.nan
        return abs(y) if (size > 1) == (y > 0) else 0.0
    if y == 1:
        return x
    if y == -1:
        return 1.0 / x
    if y == 2:
        return x * x
    if y == 0.5 and x > -math.inf:
        return math.sqrt(x + 0.0)
    kind = parity(y) if x < 0 or bits_of(x) < 0 else 2
    sign = -1.0 if kind == 1 else 1.0
    if size == 0 or math.isinf(size) or size == 1:
        if size == 1 and kind == 0:
            return math.nan
        return sign * (1.0 / size if y < 0 else size)
    if kind == 0:
        return math.nan
    word, y_word = high_word(size), high_word(abs(y))
    if y_word > 0x41E00000:
        if y_word > 0x43F00000 or word < 0x3FEFFFFF or word > 0x3FF00000:
            return sign * math.inf if (size > 1) == (y > 0) else sign * 0.0
        high, low = logarithm_near_one(size)
    else:
        high, low = logarithm_of(size)
    y_high = rounded_to_high(y)
    return sign * power_of_two(y_high * high, (y - y_high) * high + y * low)


@kernel
def exp_all(data: Float64Array, out: Float64Array) -> None:
    """Write e**x of every number, float64."""
    for row in range(out.shape[0]):
        out[row] = exp(data[row])


@kernel
def log_all(data: Float64Array, out: Float64Array) -> None:
    """Write the natural logarithm of every number, float64."""
    for row in range(out.shape[0]):
        out[row] = log(data[row])


@kernel
def log10_all(data: Float64Array, out: Float64Array) -> None:
    """Write the logarithm to the base 10 of every number, float64."""
    for row in range(out.shape[0]):
        out[row] = log10(data[row])


@kernel
def pow_all(bases: Float64Array, exponents: Float64Array, out: Float64Array) -> None:
    """Write each base to the power of its exponent, float64."""
    for row in range(out.shape[0]):
        out[row] = pow(bases[row], exponents[row])
