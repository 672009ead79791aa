"""The decimal digits of doubles and floats, as Java prints them before version 19 (FloatingDecimal of the JDK).

Those are enough digits to tell a number from its neighbours, but not always the fewest: 2E23 is printed as
1.9999999999999998E23. Digits are therefore generated one by one, by the same stopping test, on numerators and
denominators of the same sizes. Numbers of any size need wide integers (:func:`wide_digits`); those
between about 1e-27 and 1e27 are computed here in 64 or 128 bits.

A number is ``0.d1d2…dn * 10**exponent``; the digits are one integer of ``n`` digits, which may end in zeros.
"""

from __future__ import annotations

import math

import numpy as np

from pyspark_pipeline.kernels.arrays import BoolArray, Float64Array, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.decimal_int128 import multiply_words
from pyspark_pipeline.kernels.jit import frozen, kernel
from pyspark_pipeline.kernels.wrapping import wrapping_add, wrapping_multiply, wrapping_subtract

#: The number of bits of 5**i, by which Java chooses the size of its integers; it takes 3 * i beyond.
_FIVE_BITS = frozen(np.array([0, *((5**i).bit_length() for i in range(1, 27))], dtype=np.int64))
_FIVES = frozen(np.array([5**i for i in range(28)], dtype=np.int64))
_TENS = frozen(np.array([10**i for i in range(19)], dtype=np.int64))

_BIAS, _MANTISSA_BITS = 1023, 52
_HIDDEN = 1 << _MANTISSA_BITS
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_WORD = np.uint64(64)


@kernel
def parts_of_double(bits: int) -> tuple[int, int, int]:
    """Split the bits of a positive finite double into (53-bit mantissa, exponent, precision in bits)."""
    mantissa = bits & (_HIDDEN - 1)
    exponent = bits >> _MANTISSA_BITS
    precision = 53
    if exponent == 0:
        exponent = 1
        while mantissa < _HIDDEN:
            mantissa <<= 1
            exponent -= 1
            precision -= 1
    else:
        mantissa |= _HIDDEN
    return mantissa, exponent - _BIAS, precision


@kernel
def parts_of_float(bits: int) -> tuple[int, int, int]:
    """Split the bits of a positive finite float; the result as :func:`parts_of_double`."""
    mantissa = bits & 0x7FFFFF
    exponent = bits >> 23
    precision = 24
    if exponent == 0:
        exponent = 1
        while mantissa < 0x800000:
            mantissa <<= 1
            exponent -= 1
            precision -= 1
    else:
        mantissa |= 0x800000
    return mantissa << 29, exponent - 127, precision


@kernel
def five_bits(power: int) -> int:
    """Return the number of bits of 5**power, approximately for large powers."""
    return _FIVE_BITS[power] if power < 27 else 3 * power


@kernel
def whole_digits(mantissa: int, exponent: int, precision: int) -> tuple[int, int, int]:
    """Return (digits, their number, exponent) of a whole number below 2**63, without trailing zeros."""
    drop = 0
    if exponent > precision:
        drop = int((exponent - precision - 1) * 0.30103)  # digits below the precision
    value = mantissa << (exponent - 52) if exponent >= 52 else mantissa >> (52 - exponent)
    power = drop
    if drop > 0:
        unit = _TENS[drop]
        rest = value % unit
        value //= unit
        if rest >= unit >> 1:
            value += 1
    while value % 10 == 0:
        value //= 10
        power += 1
    count = count_digits(value)
    return value, count, count + power


@kernel
def count_digits(value: int) -> int:
    """Return the number of decimal digits of a positive integer."""
    count = 1
    while count < 19 and value >= _TENS[count]:
        count += 1
    return count


@kernel
def wrapped(value: int, is_int: bool) -> int:
    """Return the value that an ``int`` (32 bits) of Java has, if it is one."""
    if is_int:
        return int(np.int32(value & 0xFFFFFFFF))
    return value


@kernel
def finished(digits: int, count: int, exponent: int, low: bool, high: bool, half: int) -> tuple[int, int, int]:
    """Round the last digit up where the remainder is large; ``half`` is the sign of twice the remainder minus one."""
    if high and (not low or half > 0 or (half == 0 and digits & 1)):
        digits += 1
        if count_digits(digits) > count:
            digits //= 10
            exponent += 1
    return digits, count, exponent + 1


@kernel
def narrow_digits(b: int, s: int, m: int, exponent: int, is_int: bool) -> tuple[int, int, int]:
    """Generate the digits of b / s with the tolerance m, in Java's ``int`` or ``long``, which may wrap around."""
    tens = s * 10
    digits = 0
    count = 0
    q = b // s
    b = 10 * (b % s)
    m = wrapped(wrapping_multiply(m, 10), is_int)
    low = b < m
    high = wrapped(wrapping_add(b, m), is_int) > tens
    if q == 0 and not high:
        exponent -= 1
    else:
        digits = q
        count = 1
    if exponent < -3 or exponent >= 8:
        high = low = False
    while not low and not high:
        q = b // s
        b = 10 * (b % s)
        m = wrapped(wrapping_multiply(m, 10), is_int)
        if m > 0:
            low = b < m
            high = wrapped(wrapping_add(b, m), is_int) > tens
        else:
            low = high = True
        digits = digits * 10 + q
        count += 1
    half = wrapped(wrapping_subtract(wrapping_multiply(b, 2), tens), is_int)
    return finished(digits, count, exponent, low, high, half)


@kernel
def below(ahigh: np.uint64, alow: np.uint64, bhigh: np.uint64, blow: np.uint64) -> bool:
    """Return whether a < b, both of 128 bits."""
    return bool(ahigh < bhigh or (ahigh == bhigh and alow < blow))


@kernel
def plus(ahigh: np.uint64, alow: np.uint64, bhigh: np.uint64, blow: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return a + b, both of 128 bits, as (high, low)."""
    low = alow + blow
    return ahigh + bhigh + np.uint64(low < alow), low


@kernel
def minus(ahigh: np.uint64, alow: np.uint64, bhigh: np.uint64, blow: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return a - b >= 0, both of 128 bits, as (high, low)."""
    return ahigh - bhigh - np.uint64(alow < blow), alow - blow


@kernel
def shifted(high: np.uint64, low: np.uint64, count: int) -> tuple[np.uint64, np.uint64]:
    """Return a value of 128 bits times 2**count (0 to 127) as (high, low)."""
    shift = np.uint64(count)
    if count == 0:
        return high, low
    if count >= 64:
        return low << (shift - _WORD), _ZERO
    return (high << shift) | (low >> (_WORD - shift)), low << shift


@kernel
def times_ten(high: np.uint64, low: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return a value of 128 bits times 10 as (high, low)."""
    ehigh, elow = shifted(high, low, 3)
    thigh, tlow = shifted(high, low, 1)
    return plus(ehigh, elow, thigh, tlow)


@kernel
def quotient(bhigh: np.uint64, blow: np.uint64, shigh: np.uint64, slow: np.uint64) -> tuple[int, np.uint64, np.uint64]:
    """Return (b // s, remainder) for a quotient below 16 by binary long division: (int, high, low)."""
    q = 0
    for shift in range(3, -1, -1):
        phigh, plow = shifted(shigh, slow, shift)
        if not below(bhigh, blow, phigh, plow):
            bhigh, blow = minus(bhigh, blow, phigh, plow)
            q += 1 << shift
    return q, bhigh, blow


@kernel
def medium_digits(
    mantissa: int, b5: int, b2: int, s5: int, s2: int, m5: int, m2: int, exponent: int
) -> tuple[int, int, int]:
    """Generate the digits of (mantissa * 5**b5 * 2**b2) / (5**s5 * 2**s2) in 128 bits, tolerance 5**m5 * 2**m2."""
    product_low, product_high = multiply_words(mantissa, _FIVES[b5])
    bhigh, blow = shifted(np.uint64(product_high), np.uint64(product_low), b2)
    shigh, slow = shifted(_ZERO, np.uint64(_FIVES[s5]), s2)
    mhigh, mlow = shifted(_ZERO, np.uint64(_FIVES[m5]), m2)
    thigh, tlow = times_ten(shigh, slow)
    digits = 0
    count = 0
    is_first = True
    low = high = False
    while is_first or not (low or high):
        q, bhigh, blow = quotient(bhigh, blow, shigh, slow)
        bhigh, blow = times_ten(bhigh, blow)
        mhigh, mlow = times_ten(mhigh, mlow)
        low = below(bhigh, blow, mhigh, mlow)
        uhigh, ulow = plus(bhigh, blow, mhigh, mlow)
        high = not below(uhigh, ulow, thigh, tlow)
        if is_first and q == 0 and not high:
            exponent -= 1
        else:
            digits = digits * 10 + q
            count += 1
        if is_first and (exponent < -3 or exponent >= 8):
            low = high = False
        is_first = False
    bhigh, blow = shifted(bhigh, blow, 1)
    half = 1
    if below(bhigh, blow, thigh, tlow):
        half = -1
    elif bhigh == thigh and blow == tlow:
        half = 0
    return finished(digits, count, exponent, low, high, half)


@kernel
def odd_part(mantissa: int) -> tuple[int, int]:
    """Return a mantissa of 53 bits without its trailing zero bits, and the number of bits left."""
    bits = 53
    while mantissa & 1 == 0:
        mantissa >>= 1
        bits -= 1
    return mantissa, bits


@kernel
def scales(mantissa: int, bits: int, exponent: int, precision: int) -> tuple[int, int, int, int, int, int, int]:
    """Return (b5, b2, s5, s2, m5, m2, estimated decimal exponent) for an odd mantissa of ``bits`` bits."""
    tiny = max(0, bits - exponent - 1)
    fraction = np.float64(mantissa) / np.float64(np.int64(1) << (bits - 1))
    decimal = int(math.floor((fraction - 1.5) * 0.289529654 + 0.176091259 + exponent * 0.301029995663981))
    b5 = max(0, -decimal)
    b2 = b5 + tiny + exponent
    s5 = max(0, decimal)
    s2 = s5 + tiny
    m2 = b2 - precision
    b2 -= bits - 1
    common = min(b2, s2)
    b2 -= common
    s2 -= common
    m2 -= common
    if bits == 1:
        m2 -= 1
    if m2 < 0:
        b2 -= m2
        s2 -= m2
        m2 = 0
    return b5, b2, s5, s2, b5, m2, decimal


@kernel
def java_digits(mantissa: int, exponent: int, precision: int) -> tuple[int, int, int]:
    """Return (digits, their number, exponent); the number is 0 if it takes more than 128 bits."""
    odd, bits = odd_part(mantissa)
    if exponent <= 62 and bits - exponent - 1 <= 0:
        return whole_digits(mantissa, exponent, precision)
    b5, b2, s5, s2, m5, m2, decimal = scales(odd, bits, exponent, precision)
    numerator = bits + b2 + five_bits(b5)
    denominator = s2 + 1 + five_bits(s5 + 1)
    if numerator < 64 and denominator < 64:
        is_int = numerator < 32 and denominator < 32
        b, s, m = (odd * _FIVES[b5]) << b2, _FIVES[s5] << s2, _FIVES[m5] << m2
        return narrow_digits(b, s, m, decimal, is_int)
    if b5 < 28 and s5 < 28 and numerator < 123 and denominator < 123:
        return medium_digits(odd, b5, b2, s5, s2, m5, m2, decimal)
    return np.int64(0), np.int64(0), np.int64(0)


def wide_digits(mantissa: int, exponent: int, precision: int) -> tuple[int, int, int]:
    """Return (digits, their number, exponent) of a number that takes more than 64 bits, by Python's integers."""
    mantissa, bits = map(int, odd_part(mantissa))
    b5, b2, s5, s2, m5, m2, decimal = map(int, scales(mantissa, bits, exponent, precision))
    b, s, m = mantissa * 5**b5 << b2, 5**s5 << s2, 5**m5 << m2
    digits = count = 0
    is_first, low, high = True, False, False
    while is_first or not (low or high):
        q, b = divmod(b, s)
        b, m = b * 10, m * 10
        low, high = b < m, b + m >= s * 10
        if is_first and q == 0 and not high:
            decimal -= 1
        else:
            digits = digits * 10 + q
            count += 1
        if is_first and not -3 <= decimal < 8:
            low = high = False
        is_first = False
    twice, whole = b * 2, s * 10
    found = finished(digits, count, decimal, low, high, (twice > whole) - (twice < whole))
    return int(found[0]), int(found[1]), int(found[2])


@kernel
def write_number(digits: int, count: int, exponent: int, is_negative: bool, out: UInt8Array, end: int) -> int:
    """Write a number at ``end`` as Java's ``Double.toString`` formats it; return the new end."""
    if is_negative:
        out[end] = 45
        end += 1
    point, size = 1, max(count, 2)
    if 0 < exponent < 8:
        point, size = exponent, max(count, exponent + 1)
    elif -3 < exponent <= 0:
        point, size = -1, count
        out[end] = 48
        out[end + 1] = 46
        end += 2
        for _ in range(-exponent):
            out[end] = 48
            end += 1
    for index in range(size):
        if index == point:
            out[end] = 46
            end += 1
        digit = 0
        if index < count:
            unit = _TENS[count - 1 - index]
            digit = digits // unit
            digits -= digit * unit
        out[end] = 48 + digit
        end += 1
    if exponent >= 8 or exponent <= -3:
        end = write_power(exponent - 1, out, end)
    return end


@kernel
def write_power(power: int, out: UInt8Array, end: int) -> int:
    """Write the power of ten of scientific notation at ``end``; return the new end."""
    out[end] = 69
    end += 1
    if power < 0:
        out[end] = 45
        end += 1
        power = -power
    for unit in (100, 10, 1):
        if power >= unit or unit == 1:
            out[end] = 48 + power // unit % 10
            end += 1
    return end


@kernel
def split_numbers(
    bits: Int64Array, is_float: bool, digits: Int64Array, counts: Int64Array, exponents: Int64Array
) -> None:
    """Write the digits, their number and the exponent of doubles or floats, given by their bits (all int64).

    The number is 0 where it takes more than 128 bits; zeros, infinities and NaN have the digit 0.
    """
    for row in range(counts.shape[0]):
        number = magnitude_bits(bits[row], is_float)
        if number == 0 or number >= infinity_bits(is_float):
            digits[row], counts[row], exponents[row] = 0, 1, 1
        else:
            mantissa, exponent, precision = parts_of_float(number) if is_float else parts_of_double(number)
            digits[row], counts[row], exponents[row] = java_digits(mantissa, exponent, precision)


@kernel
def split_texts(
    offsets: Int32Array, data: UInt8Array, digits: Int64Array, counts: Int64Array, exponents: Int64Array
) -> None:
    """Write the digits, their number and the exponent of numbers, given by texts such as ``-1.5e-07``.

    Trailing zeros are no digits; zeros and texts without a digit have the digit 0.
    """
    for row in range(counts.shape[0]):
        value, count, exponent, zeros = 0, 0, 0, 0
        is_fraction = False
        at, stop = np.int64(offsets[row]), np.int64(offsets[row + 1])
        while at < stop and data[at] != 101:
            byte = data[at]
            at += 1
            if byte == 46:
                is_fraction = True
            if byte < 48 or byte > 57:
                continue
            if count > 0 or byte != 48:
                exponent += 0 if is_fraction else 1
                zeros += 1
                if byte != 48:
                    for _ in range(zeros):
                        value *= 10
                    value += np.int64(byte) - 48
                    count += zeros
                    zeros = 0
            elif is_fraction:
                exponent -= 1
        if at < stop and count > 0:
            sign = -1 if data[at + 1] == 45 else 1
            power = 0
            for place in range(at + 1, stop):
                if 48 <= data[place] <= 57:
                    power = power * 10 + np.int64(data[place]) - 48
            exponent += sign * power
        digits[row], counts[row], exponents[row] = value, max(count, 1), exponent if count else 1


@kernel
def magnitude_bits(bits: int, is_float: bool) -> int:
    """Return the bits of a double or float without its sign."""
    return bits & (0x7FFFFFFF if is_float else 0x7FFFFFFFFFFFFFFF)


@kernel
def infinity_bits(is_float: bool) -> int:
    """Return the bits of infinity; those of NaN are above."""
    return 0x7F800000 if is_float else 0x7FF0000000000000


#: The longest text of a number: a sign, 18 digits, a point, and a power of ten.
LONGEST = 26


@kernel
def write_numbers(
    bits: Int64Array, is_float: bool, digits: Int64Array, counts: Int64Array, exponents: Int64Array, ends: Int32Array,
    out: UInt8Array,
) -> None:  # fmt: skip
    """Write the text of doubles or floats, given by their bits and digits; ``out`` has LONGEST bytes for each row.

    ``ends`` is int32, shape (rows + 1,), and begins with 0.
    """
    end = 0
    ends[0] = 0
    for row in range(counts.shape[0]):
        number = magnitude_bits(bits[row], is_float)
        is_negative = number != bits[row]
        if number > infinity_bits(is_float):
            for letter in (78, 97, 78):  # NaN
                out[end] = letter
                end += 1
        elif number == infinity_bits(is_float):
            if is_negative:
                out[end] = 45
                end += 1
            for letter in (73, 110, 102, 105, 110, 105, 116, 121):  # Infinity
                out[end] = letter
                end += 1
        else:
            end = write_number(digits[row], counts[row], exponents[row], is_negative, out, end)
        ends[row + 1] = end


@kernel
def round_doubles(values: Float64Array, power: float, out: Float64Array, exact: BoolArray) -> None:
    """Round doubles to multiples of 1 / ``power`` (10**0 to 10**22), where the fraction is not near a half.

    ``exact`` is false where it may be: there the digits of the number decide.
    """
    for row in range(out.shape[0]):
        value = values[row]
        scaled = abs(value) * power
        whole = math.floor(scaled)
        fraction = scaled - whole
        exact[row] = scaled < 1e15 and abs(fraction - 0.5) > scaled * 1e-15 + 1e-300
        rounded = (whole + (fraction > 0.5)) / power
        out[row] = -rounded if value < 0 and rounded > 0 else rounded


@kernel
def round_digits(
    values: Float64Array, digits: Int64Array, counts: Int64Array, exponents: Int64Array, scale: int, even: bool,
    out: Float64Array, exact: BoolArray,
) -> None:  # fmt: skip
    """Round numbers by their digits, halves away from zero or to the even neighbour (``even``); finite values only.

    ``scale`` is -22 to 22; ``exact`` is false where the rounded digits are no exact double.
    """
    for row in range(out.shape[0]):
        value = values[row]
        drop = counts[row] - exponents[row] - scale
        exact[row] = True
        if drop <= 0:
            out[row] = value if value != 0 else 0.0
            continue
        rounded = 0
        if drop < 19:
            unit = _TENS[drop]
            rounded = digits[row] // unit
            rest = digits[row] - rounded * unit
            half = unit >> 1
            if rest > half or (rest == half and (not even or rounded & 1)):
                rounded += 1
        exact[row] = rounded < (1 << 53)
        power = 10.0 ** abs(scale)
        size = rounded / power if scale >= 0 else rounded * power
        out[row] = -size if value < 0 and rounded > 0 else size


@kernel
def unscale_digits(
    values: Float64Array, digits: Int64Array, counts: Int64Array, exponents: Int64Array, scale: int, bound: int,
    out: Int64Array, exact: BoolArray,
) -> None:  # fmt: skip
    """Write numbers as the words of decimals of ``scale`` fraction digits (0 to 18), halves away from zero.

    ``exact`` is false for numbers whose unscaled value is not below ``bound`` (at most 10**18), and for NaN.
    """
    for row in range(exact.shape[0]):
        shift = exponents[row] - counts[row] + scale
        size = digits[row]
        fits = abs(values[row]) < 1e18
        if shift < -18:
            size = 0
        elif shift < 0:
            unit = _TENS[-shift]
            size = digits[row] // unit
            if digits[row] - size * unit >= unit >> 1:
                size += 1
        elif size != 0:
            fits = fits and shift <= 18 and size < bound
            if fits:
                unit = _TENS[shift]
                fits = size <= (bound - 1) // unit
                size *= unit
        exact[row] = fits and size < bound
        word = -size if values[row] < 0 else size
        out[row, 0] = word
        out[row, 1] = word >> 63
