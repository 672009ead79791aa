"""asin, acos, atan and atan2 with the very bits of Java's StrictMath, by fdlibm (:mod:`~.fdlibm`)."""

from __future__ import annotations

import math

from pyspark_pipeline.kernels.arrays import Float64Array
from pyspark_pipeline.kernels.fdlibm import bits_of, high_word, rounded_to_high
from pyspark_pipeline.kernels.jit import kernel

_HALF_PI, _HALF_PI_LOW = 1.57079632679489655800e00, 6.12323399573676603587e-17
_QUARTER_PI = 7.85398163397448278999e-01
_PI, _PI_LOW = 3.14159265358979311600e00, 1.2246467991473531772e-16
_P0, _P1, _P2 = 1.66666666666666657415e-01, -3.25565818622400915405e-01, 2.01212532134862925881e-01
_P3, _P4, _P5 = -4.00555345006794114027e-02, 7.91534994289814532176e-04, 3.47933107596021167570e-05
_Q1, _Q2 = -2.40339491173441421878e00, 2.02094576023350569471e00
_Q3, _Q4 = -6.88283971605453293030e-01, 7.70381505559019352791e-02
_A0, _A1, _A2 = 3.33333333333329318027e-01, -1.99999999998764832476e-01, 1.42857142725034663711e-01
_A3, _A4, _A5 = -1.11111104054623557880e-01, 9.09088713343650656196e-02, -7.69187620504482999495e-02
_A6, _A7, _A8 = 6.66107313738753120669e-02, -5.83357013379057348645e-02, 4.97687799461593236017e-02
_A9, _A10 = -3.65315727442169155270e-02, 1.62858201153657823623e-02


@kernel(error_model="numpy")
def _ratio(t: float) -> float:
    """Return (asin(x) - x) / x**3 for t = x**2, at most 1/4."""
    above = t * (_P0 + t * (_P1 + t * (_P2 + t * (_P3 + t * (_P4 + t * _P5)))))
    below = 1.0 + t * (_Q1 + t * (_Q2 + t * (_Q3 + t * _Q4)))
    return above / below


@kernel(error_model="numpy")
def asin(x: float) -> float:
    """Return the arc sine in radians."""
    size = abs(x)
    if not size <= 1.0:
        return math.nan
    if size == 1.0:
        return x * _HALF_PI + x * _HALF_PI_LOW
    if size < 0.5:
        return x if size < 7.450580596923828e-09 else x + x * _ratio(x * x)
    t = (1.0 - size) * 0.5
    ratio = _ratio(t)
    s = math.sqrt(t)
    if high_word(size) >= 0x3FEF3333:
        angle = _HALF_PI - (2.0 * (s + s * ratio) - _HALF_PI_LOW)
    else:
        w = rounded_to_high(s)
        c = (t - w * w) / (s + w)
        p = 2.0 * s * ratio - (_HALF_PI_LOW - 2.0 * c)
        angle = _QUARTER_PI - (p - (_QUARTER_PI - 2.0 * w))
    return angle if x > 0 else -angle


@kernel(error_model="numpy")
def acos(x: float) -> float:
    """Return the arc cosine in radians."""
    size = abs(x)
    if not size <= 1.0:
        return math.nan
    if size == 1.0:
        return 0.0 if x > 0 else _PI + 2.0 * _HALF_PI_LOW
    if size < 0.5:
        if high_word(size) <= 0x3C600000:
            return _HALF_PI + _HALF_PI_LOW
        return _HALF_PI - (x - (_HALF_PI_LOW - x * _ratio(x * x)))
    z = (1.0 - size) * 0.5
    ratio = _ratio(z)
    s = math.sqrt(z)
    if x < 0:
        return _PI - 2.0 * (s + (ratio * s - _HALF_PI_LOW))
    high = rounded_to_high(s)
    c = (z - high * high) / (s + high)
    return 2.0 * (high + (ratio * s + c))


@kernel(error_model="numpy")
def atan(x: float) -> float:
    """Return the arc tangent in radians."""
    size = abs(x)
    if not size < 73786976294838206464.0:
        if math.isnan(x):
            return x
        return _HALF_PI + _HALF_PI_LOW if x > 0 else -_HALF_PI - _HALF_PI_LOW
    if size < 1.862645149230957e-09:
        return x
    high = low = 0.0
    t = x
    if size >= 0.4375:
        if size < 0.6875:
            high, low = 4.63647609000806093515e-01, 2.26987774529616870924e-17
            t = (2.0 * size - 1.0) / (2.0 + size)
        elif size < 1.1875:
            high, low = _QUARTER_PI, 3.06161699786838301793e-17
            t = (size - 1.0) / (size + 1.0)
        elif size < 2.4375:
            high, low = 9.82793723247329054082e-01, 1.39033110312309984516e-17
            t = (size - 1.5) / (1.0 + 1.5 * size)
        else:
            high, low = _HALF_PI, _HALF_PI_LOW
            t = -1.0 / size
    z = t * t
    w = z * z
    odd = z * (_A0 + w * (_A2 + w * (_A4 + w * (_A6 + w * (_A8 + w * _A10)))))
    even = w * (_A1 + w * (_A3 + w * (_A5 + w * (_A7 + w * _A9))))
    if size < 0.4375:
        return t - t * (odd + even)
    angle = high - ((t * (odd + even) - low) - t)
    return -angle if x < 0 else angle


@kernel(error_model="numpy")
def atan2(y: float, x: float) -> float:
    """Return the angle of the point (x, y) in radians."""
    if math.isnan(x) or math.isnan(y):
        return math.nan
    if x == 1.0:
        return atan(y)
    is_left = bits_of(x) < 0
    if y == 0:
        return math.copysign(_PI, y) if is_left else y
    if x == 0:
        return math.copysign(_HALF_PI, y)
    if math.isinf(x):
        if math.isinf(y):
            return math.copysign(3.0 * _QUARTER_PI if is_left else _QUARTER_PI, y)
        return math.copysign(_PI if is_left else 0.0, y)
    if math.isinf(y):
        return math.copysign(_HALF_PI, y)
    k = (high_word(abs(y)) - high_word(abs(x))) >> 20
    if k > 60:
        z = _HALF_PI + 0.5 * _PI_LOW
    elif is_left and k < -60:
        z = 0.0
    else:
        z = atan(abs(y / x))
    if is_left:
        return (z - _PI_LOW) - _PI if y < 0 else _PI - (z - _PI_LOW)
    return -z if y < 0 else z


@kernel
def asin_all(data: Float64Array, out: Float64Array) -> None:
    """Write the arc sine of every number, float64."""
    for row in range(out.shape[0]):
        out[row] = asin(data[row])


@kernel
def acos_all(data: Float64Array, out: Float64Array) -> None:
    """Write the arc cosine of every number, float64."""
    for row in range(out.shape[0]):
        out[row] = acos(data[row])


@kernel
def atan_all(data: Float64Array, out: Float64Array) -> None:
    """Write the arc tangent of every number, float64."""
    for row in range(out.shape[0]):
        out[row] = atan(data[row])


@kernel
def atan2_all(ordinates: Float64Array, abscissas: Float64Array, out: Float64Array) -> None:
    """Write the angle of every point, float64."""
    for row in range(out.shape[0]):
        out[row] = atan2(ordinates[row], abscissas[row])
