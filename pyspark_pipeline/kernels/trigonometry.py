"""sin, cos and tan with the very bits of Java's Math on x86: there the virtual machine calls Intel's library for them.

Its results differ now and then from those of StrictMath and of the C library in the last digit, so its reductions,
tables and order of operations are the ones used here. Intel published the algorithm in OpenJDK and, with the licence
of BSD, in Android's C library. An argument is reduced to its nearest multiple of pi/32, whose functions are in tables
(:mod:`~.trigonometric_tables`), and a remainder, for which there are series.
"""

from __future__ import annotations

import math

import numpy as np

from pyspark_pipeline.kernels.arrays import Float64Array
from pyspark_pipeline.kernels.fdlibm import bits_of, high_word, number_of
from pyspark_pipeline.kernels.jit import kernel
from pyspark_pipeline.kernels.trigonometric_tables import SINES, TANGENTS, TWO_OVER_PI

_STEPS, _RIGHT_ANGLES = 10.185916357881302, 0.6366197723675814  # 32/pi and 2/pi
# pi/32 in three parts; the products of the first two with a multiple are exact.
_STEP_1, _STEP_2, _STEP_3 = 0.09817477042088285, 3.798187816439979e-12, 1.2639164054974691e-22
# The series of sin(r) - r and cos(r) - 1.
_S3, _S5, _S7, _S9 = -0.16666666666666666, 0.008333333333333333, -0.0001984126984126984, 2.7557319223985893e-06
_C2, _C4, _C6, _C8 = -0.5, 0.041666666666666664, -0.001388888888888889, 2.48015873015873e-05
#: The first 16 bits of numbers without sign: the least for the tables, and the first too large for them.
_SINE_LEAST, _SINE_LARGE = 0x3030, 0x40F6
_TANGENT_LEAST, _TANGENT_LARGE, _TANGENT_SERIES = 0x3FBA, 0x40C9, 0x3E20
_INFINITE = 0x7FF0
# pi/4 in two parts, for sines and for tangents.
_EIGHTH_HIGH, _EIGHTH_LOW = 0.7853981256484985, 3.774894977445941e-08
_QUARTER_HIGH, _QUARTER_LOW = 0.785398006439209, 1.5695823932524066e-07
# pi/32 in three parts for the tangent; other parts for the reduction to the nearest multiple of pi/2.
_T1, _T2, _T3 = 0.09817477042452083, 1.6020900947399724e-13, 6.601874416867142e-25
_R1, _R2, _R3 = 0.0981747704247482, -6.716466596861444e-14, 3.9801982271943437e-26
_R2_AND_R3 = 6.716466596857464e-14
# The masks of the bits of a divisor and of its reciprocal whose product is exact.
_HIGH_35, _HIGH_29 = ~0x3FFFF, ~0x7FFFFFFFF
_Q3, _Q5, _Q7 = 0.3333333333333438, 0.1333333333189392, 0.05396826038703869
_Q9, _Q11 = 0.021868240060138665, 0.008973320742177588

_0, _1, _32 = np.uint64(0), np.uint64(1), np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@kernel
def _first_bits(number: float) -> int:
    """Return the exponent and the first 4 bits of the mantissa as an integer of 15 bits."""
    return (high_word(number) >> 16) & 0x7FFF


@kernel
def _nearest(quotient: float) -> int:
    """Return the integer nearest to the quotient, the one further from zero of two."""
    return int(quotient + math.copysign(0.5, quotient))


@kernel
def _length(number: np.uint64) -> int:
    """Return the position of the highest bit of an unsigned integer that is not zero."""
    high = number >> _32
    if high != _0:
        return 32 + (bits_of(float(np.int64(high))) >> 52) - 1023
    return (bits_of(float(np.int64(number))) >> 52) - 1023


@kernel
def _reduced(x: float, quarters: bool, high_part: float, low_part: float) -> tuple[float, float, int]:
    """Return x less a multiple of pi/4, or of pi/2 for ``quarters``, as a sum of two; and the multiple's last digits.

    x is multiplied by those digits of 2/pi that matter: 192 bits of the product are exact.
    """
    bits = bits_of(x)
    exponent = (bits >> 52) & 2047
    word = (exponent - 1014) >> 5
    low_factor = np.uint64(bits & 0xFFFFFFFF)
    high_factor = np.uint64(((bits >> 32) & 0xFFFFF) | 0x100000)
    product = TWO_OVER_PI[word + 5] * low_factor
    total = (product & _LOW) + TWO_OVER_PI[word + 6] * high_factor
    c = total & _LOW
    total = (total >> _32) + (product >> _32) + TWO_OVER_PI[word + 5] * high_factor
    product = TWO_OVER_PI[word + 4] * low_factor
    total += product & _LOW
    c |= (total & _LOW) << _32
    total = (total >> _32) + (product >> _32) + TWO_OVER_PI[word + 4] * high_factor
    product = TWO_OVER_PI[word + 3] * low_factor
    total += product & _LOW
    b = total & _LOW
    total = (total >> _32) + (product >> _32) + TWO_OVER_PI[word + 3] * high_factor
    product = TWO_OVER_PI[word + 2] * low_factor
    total += product & _LOW
    b |= (total & _LOW) << _32
    total = (total >> _32) + (product >> _32) + TWO_OVER_PI[word + 2] * high_factor
    product = TWO_OVER_PI[word + 1] * low_factor
    total += product & _LOW
    a = total & _LOW
    total = (total >> _32) + (product >> _32) + TWO_OVER_PI[word + 1] * high_factor
    total += TWO_OVER_PI[word] * low_factor
    a |= (total & _LOW) << _32
    # The product is a * 2**128 + b * 2**64 + c; ``places`` of the bits of a are behind the point.
    scale = 51 + 32 * word - exponent + 1023
    places = np.uint64(scale + (1 if quarters else 0))
    multiple = np.int64(a >> places) & (3 if quarters else 7)
    a &= (_1 << places) - _1
    negative = (a >> (places - _1)) != _0
    if negative:  # the next multiple is nearer
        multiple += 1
        a = (_1 << places) - a
        if b != _0 or c != _0:
            a -= _1
        b = ~b + _1 if c == _0 else ~b
        c = ~c + _1
    if a == _0:
        scale += 64
        a, b, c = b, c, _0
    shift = 29 - _length(a)
    if shift > 0:
        left, right = np.uint64(shift), np.uint64(64 - shift)
        a = (a << left) | (b >> right)
        b = (b << left) | (c >> right)
    elif shift < 0:
        left, right = np.uint64(64 + shift), np.uint64(-shift)
        b = (b >> right) | (a << left)
        a = a >> right
    scale += shift
    unit, small_unit = number_of((1023 - scale) << 52), number_of((960 - scale) << 52)
    if negative != (x < 0):
        unit, small_unit = -unit, -small_unit
    main = float(np.int64(a)) * unit
    rest = float(np.int64(b >> _1)) * small_unit
    low = low_part * (main + rest) + rest * high_part
    main = main * high_part
    high = main + low
    return high, low + (main - high), -multiple if x < 0 else multiple


@kernel
def _sine_of_sum(x: float, low: float, offset: int) -> float:
    """Return the sine of x + low + offset * pi/32."""
    multiple = _nearest(x * _STEPS)
    n = float(multiple)
    row = (multiple + offset) & 63
    cosine_rest, sine, sine_rest, sigma = SINES[row, 0], SINES[row, 1], SINES[row, 2], SINES[row, 3]
    first = x - n * _STEP_1
    second = n * _STEP_2
    r = first - second
    correction = n * _STEP_3 - ((first - r) - second) - low
    cosine = cosine_rest + sigma
    square = r * r
    fourth = square * square
    odd = (square * _S5 + _S3) + (first * _S9 * r + _S7) * fourth
    even = (square * _C4 + _C2) + (first * _C8 * r + _C6) * fourth
    linear = sigma * r
    medium = r * cosine_rest
    inner = linear + sine
    high = medium + inner
    rest = correction * (sine * r - cosine) + sine_rest
    rest += (sine - inner) + linear
    rest += (inner - high) + medium
    rest += odd * (cosine * r * square)
    rest += even * (sine * square)
    return high + rest


@kernel
def sin(x: float) -> float:
    """Return the sine."""
    first = _first_bits(x)
    if first >= _SINE_LARGE:
        if first >= _INFINITE:
            return x * -0.0
        high, low, eighths = _reduced(x, False, _EIGHTH_HIGH, _EIGHTH_LOW)
        return _sine_of_sum(high, low, eighths * 8)
    return _sine_of_sum(x, 0.0, 0) if first >= _SINE_LEAST else x


@kernel
def cos(x: float) -> float:
    """Return the cosine."""
    first = _first_bits(x)
    if first >= _SINE_LARGE:
        if first >= _INFINITE:
            return x * -0.0
        high, low, eighths = _reduced(x, False, _EIGHTH_HIGH, _EIGHTH_LOW)
        return _sine_of_sum(high, low, eighths * 8 + 16)
    return _sine_of_sum(x, 0.0, 16) if first >= _SINE_LEAST else 1.0 - abs(x)


@kernel(error_model="numpy")
def _tangent_of_sum(x: float, low: float, offset: int) -> float:
    """Return the tangent of x + low + offset * pi/32."""
    multiple = _nearest(x * _STEPS)
    n = float(multiple)
    row = (multiple + offset) & 31
    t = TANGENTS[row]
    first = x - n * _T1
    second = n * _T2
    r = first - second
    rest = ((first - r) - second) - n * _T3 + low
    square = r * r
    fourth = square * square
    fifth = r * fourth
    series = (t[1] * r + t[0]) * square + t[2] * fourth + ((t[4] * r + t[3]) + t[5] * square) * fifth
    late = (t[7] * r + t[6]) + (t[9] * r + t[8]) * square + t[10] * fourth
    late += ((t[12] * r + t[11]) + t[13] * square) * fifth
    power, remainder = r * t[16], r * t[17]
    medium = power + remainder
    sum_of_rest = (t[16] + t[17]) * rest + t[15] + (remainder + (power - medium))
    result = late * (fourth * fourth) + series + sum_of_rest
    # Near a pole the result is the difference from the reciprocal of the remainder modulo pi/2, else without it.
    is_near_pole = 8 < row < 24
    n = float(_nearest(x * _RIGHT_ANGLES)) * 16.0
    first = x - n * _R1
    second = n * _R2
    r = first - second
    rest = ((first - r) - second) - n * _R3 + low
    divisor = number_of(bits_of(n * _R2_AND_R3 + first) & _HIGH_35)
    rest += r - divisor
    reciprocal = 1.0 / divisor
    short = number_of(bits_of(reciprocal) & (_HIGH_29 if is_near_pole else 0))
    reciprocal_rest = (1.0 - divisor * short - rest * reciprocal) * (reciprocal * (1.0 if is_near_pole else 0.0))
    high = short - t[14]
    total = medium - high
    result += medium - (high + total)
    result -= reciprocal_rest
    return result + total


@kernel
def tan(x: float) -> float:
    """Return the tangent."""
    first = _first_bits(x)
    if first >= _TANGENT_LARGE:
        if first >= _INFINITE:
            return x * -0.0
        high, low, quarters = _reduced(x, True, _QUARTER_HIGH, _QUARTER_LOW)
        return _tangent_of_sum(high, low, quarters * 16)
    if first >= _TANGENT_LEAST:
        return _tangent_of_sum(x, 0.0, 0)
    if first < _TANGENT_SERIES:
        return x
    square = x * x
    series = (((_Q11 * square + _Q9) * square + _Q7) * square + _Q5) * square + _Q3
    return x + series * (x * square)


@kernel
def sin_all(data: Float64Array, out: Float64Array) -> None:
    """Write the sine of every number, float64."""
    for row in range(out.shape[0]):
        out[row] = sin(data[row])


@kernel
def cos_all(data: Float64Array, out: Float64Array) -> None:
    """Write the cosine of every number, float64."""
    for row in range(out.shape[0]):
        out[row] = cos(data[row])


@kernel
def tan_all(data: Float64Array, out: Float64Array) -> None:
    """Write the tangent of every number, float64."""
    for row in range(out.shape[0]):
        out[row] = tan(data[row])
