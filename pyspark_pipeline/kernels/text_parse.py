"""Parse strings to dates, timestamps, integers and short decimals, by UTF8String's and SparkDateTimeUtils' rules.

Each kernel reads the offsets (int32) and bytes of a string array and writes one value and one status per
row: 0 parsed, 1 invalid, 2 outside the range or too long for the kernel.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pyspark_pipeline.kernels.arrays import Array, BoolArray, Float64Array, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.civil import days_in, days_of
from pyspark_pipeline.kernels.jit import frozen, kernel

PARSED, INVALID, TOO_LARGE = 0, 1, 2
#: No date has as many days.
NO_DAY = -(2**40)
#: Further states of timestamps: a fixed offset, another time zone, a time without a date.
NO_ZONE, WITH_OFFSET, WITH_ZONE = 0, 1, 2


def text_of(array: pa.StringArray) -> tuple[Int32Array, UInt8Array]:
    """Return (offsets, bytes) of a string array, sliced or not; the offsets have shape (rows + 1,)."""
    _, offsets, data = array.buffers()
    if offsets is None or len(array) == 0:
        return frozen(np.zeros(len(array) + 1, dtype=np.int32)), frozen(np.zeros(1, dtype=np.uint8))
    starts = frozen(np.frombuffer(offsets, dtype=np.int32, count=len(array) + 1, offset=4 * array.offset))
    if data is None or data.size == 0:
        return starts, frozen(np.zeros(1, dtype=np.uint8))
    return starts, frozen(np.frombuffer(data, dtype=np.uint8))


@kernel
def trim(data: UInt8Array, start: int, end: int) -> tuple[int, int]:
    """Return (start, end) without white space and control characters at both ends, as UTF8String.trimAll."""
    while start < end and (data[start] <= 32 or data[start] == 127):
        start += 1
    while end > start and (data[end - 1] <= 32 or data[end - 1] == 127):
        end -= 1
    return start, end


@kernel(forceinline=True)
def _digits(data: UInt8Array, at: int, count: int) -> int:
    """Return the number of ``count`` digits at ``at``, a negative one if there is another byte."""
    value = np.int64(0)
    other = np.int64(0)
    for j in range(at, at + count):
        digit = np.int64(data[j]) - 48
        other |= digit | (9 - digit)
        value = value * 10 + digit
    return value if other >= 0 else np.int64(-1)


@kernel(forceinline=True)
def _iso_days(data: UInt8Array, at: int) -> int:
    """Return the days of the ten bytes ``yyyy-mm-dd`` at ``at``; NO_DAY if they are no such date."""
    year, month, day = _digits(data, at, 4), _digits(data, at + 5, 2), _digits(data, at + 8, 2)
    if data[at + 4] != 45 or data[at + 7] != 45 or year < 0 or month < 1 or month > 12:
        return NO_DAY
    if day < 1 or (day > 28 and day > days_in(year, month)):
        return NO_DAY
    return days_of(year, month, day)


@kernel
def parse_dates(offsets: Int32Array, data: UInt8Array, out: Int32Array, status: UInt8Array) -> None:
    """Parse ``[+-]yyyy*[-[m]m[-[d]d[ *|T*]]]`` to days (int32)."""
    segments = np.empty(3, np.int64)
    for row in range(out.shape[0]):
        if offsets[row + 1] - offsets[row] == 10:
            days = _iso_days(data, offsets[row])
            if days != NO_DAY:
                out[row] = days
                status[row] = PARSED
                continue
        out[row] = 0
        status[row] = INVALID
        j, end = trim(data, offsets[row], offsets[row + 1])
        if j == end:
            continue
        sign = 1
        if data[j] == 45 or data[j] == 43:
            sign = -1 if data[j] == 45 else 1
            j += 1
        segments[:] = 1
        index = 0
        value = 0
        digits = 0
        valid = True
        while j < end and data[j] != 32 and data[j] != 84:
            byte = data[j]
            if index < 2 and byte == 45:
                if (index == 0 and (digits < 4 or digits > 7)) or (index > 0 and (digits == 0 or digits > 2)):
                    valid = False
                    break
                segments[index] = value
                value = 0
                digits = 0
                index += 1
            elif byte < 48 or byte > 57:
                valid = False
                break
            else:
                if digits < 10:
                    value = value * 10 + np.int64(byte) - 48
                digits += 1
            j += 1
        if not valid:
            continue
        if (index == 0 and (digits < 4 or digits > 7)) or (index > 0 and (digits == 0 or digits > 2)):
            continue
        if index < 2 and j < end:
            continue
        segments[index] = value
        year, month, day = sign * segments[0], segments[1], segments[2]
        if month < 1 or month > 12 or day < 1 or day > days_in(year, month):
            continue
        days = days_of(year, month, day)
        if -2147483648 <= days <= 2147483647:
            out[row] = days
            status[row] = PARSED


@kernel(forceinline=True)
def _iso_seconds(data: UInt8Array, at: int) -> int:
    """Return the seconds of the eight bytes ``hh:mm:ss`` at ``at``, a negative number if they are no such time."""
    hour, minute, second = _digits(data, at, 2), _digits(data, at + 3, 2), _digits(data, at + 6, 2)
    if data[at + 2] != 58 or data[at + 5] != 58 or hour > 23 or minute > 59 or second > 59:
        return np.int64(-1)
    if hour < 0 or minute < 0 or second < 0:
        return np.int64(-1)
    return hour * 3600 + minute * 60 + second


@kernel
def parse_timestamps(
    offsets: Int32Array, data: UInt8Array, seconds: Int64Array, micros: Int32Array, days: BoolArray, zones: Int32Array,
    status: UInt8Array,
) -> None:  # fmt: skip
    """Parse ``[+-]yyyy*[-[m]m[-[d]d[ |T[h]h[:[m]m[:[s]s[.fraction]]][zone]]]]`` and ``[T][h]h:...[zone]``.

    ``seconds`` (int64) are local seconds since 1970-01-01, or since midnight if ``days`` (bool) is false: a time has no
    date. ``micros`` (int32) are the microseconds of the second. ``zones`` (int32, shape (rows, 3)) has NO_ZONE;
    WITH_OFFSET and the offset in seconds (``Z``, ``+hh:mm``); or WITH_ZONE, start and end of the text of a time zone.
    """
    segments = np.empty(9, np.int64)
    for row in range(status.shape[0]):
        seconds[row] = 0
        micros[row] = 0
        days[row] = True
        zones[row, 0] = NO_ZONE
        status[row] = INVALID
        start = np.int64(offsets[row])
        if offsets[row + 1] - start == 19 and (data[start + 10] == 32 or data[start + 10] == 84):
            date = _iso_days(data, start)
            time = _iso_seconds(data, start + 11)
            if date != NO_DAY and time >= 0:
                seconds[row] = date * 86400 + time
                status[row] = PARSED
                continue
        start, end = trim(data, offsets[row], offsets[row + 1])
        if start == end:
            continue
        j = start
        sign = 1
        signed = data[j] == 45 or data[j] == 43
        if signed:
            sign = -1 if data[j] == 45 else 1
            j += 1
        segments[:] = 0
        segments[1] = segments[2] = 1
        index = 0
        value = 0
        digits = 0
        valid = True
        zone = -1
        while j < end:
            byte = data[j]
            if 48 <= byte <= 57:
                if digits < 6:
                    value = value * 10 + np.int64(byte) - 48
                digits += 1
                j += 1
                continue
            if byte == 84 and j == offsets[row]:
                days[row] = False
                index = 3
                j += 1
                continue
            if index == 0 and byte == 58 and not signed:
                days[row] = False
                index = 3
            elif index < 2:
                valid = byte == 45
            elif index == 2:
                valid = byte == 32 or byte == 84
            elif index < 5:
                valid = byte == 58
            if not valid or not _has_valid_digits(index, digits):
                valid = False
                break
            segments[index] = value
            if index == 6:
                _fill_fraction(segments, digits)
            value = 0
            digits = 0
            if index == 6 or (index == 5 and byte != 46):
                zone = j
                break
            index += 1
            j += 1
        if not valid:
            continue
        if zone < 0:
            if not _has_valid_digits(index, digits):
                continue
            segments[index] = value
            if index == 6:
                _fill_fraction(segments, digits)
        if segments[3] > 23 or segments[4] > 59 or segments[5] > 59:
            continue
        time = segments[3] * 3600 + segments[4] * 60 + segments[5]
        if days[row]:
            year, month, day = sign * segments[0], segments[1], segments[2]
            if month < 1 or month > 12 or day < 1 or day > days_in(year, month):
                continue
            time += days_of(year, month, day) * 86400
        if zone >= 0:
            _read_zone(data, zone, end, zones[row])
        seconds[row] = time
        micros[row] = segments[6]
        status[row] = PARSED


@kernel
def _has_valid_digits(index: int, digits: int) -> bool:
    if index == 0:
        return 4 <= digits <= 6
    return index == 6 or 1 <= digits <= 2


@kernel
def _fill_fraction(segments: Int64Array, digits: int) -> None:
    for _ in range(6 - digits):
        segments[6] *= 10


@kernel
def _read_zone(data: UInt8Array, start: int, end: int, zone: Int32Array) -> None:
    """Read ``Z`` or ``+hh:mm`` as an offset, or note where the text stands."""
    zone[0], zone[1], zone[2] = WITH_ZONE, start, end
    if end - start == 1 and data[start] == 90:
        zone[0], zone[1] = WITH_OFFSET, 0
    elif end - start == 6 and (data[start] == 43 or data[start] == 45) and data[start + 3] == 58:
        for place in (1, 2, 4, 5):
            if data[start + place] < 48 or data[start + place] > 57:
                return
        hours = (np.int64(data[start + 1]) - 48) * 10 + np.int64(data[start + 2]) - 48
        minutes = (np.int64(data[start + 4]) - 48) * 10 + np.int64(data[start + 5]) - 48
        if minutes < 60 and hours * 60 + minutes <= 18 * 60:
            east = (hours * 60 + minutes) * 60
            zone[0], zone[1] = WITH_OFFSET, -east if data[start] == 45 else east


@kernel
def parse_integers(
    offsets: Int32Array,
    data: UInt8Array,
    trims: bool,
    fraction: bool,
    low: int,
    high: int,
    out: Array,
    status: UInt8Array,
) -> None:
    """Parse integers in low..high; with ``fraction`` a decimal point and digits may follow, which are dropped.

    With ``trims``, white space may surround them.
    """
    smallest = -9223372036854775808
    for row in range(out.shape[0]):
        out[row] = 0
        status[row] = INVALID
        j, end = offsets[row], offsets[row + 1]
        if trims:
            j, end = trim(data, j, end)
        if j == end:
            continue
        negative = data[j] == 45
        if negative or data[j] == 43:
            j += 1
            if j == end:
                continue
        value = 0
        valid = True
        # The value is accumulated as a negative number, because the smallest integer has no positive counterpart.
        while j < end:
            byte = data[j]
            j += 1
            if byte == 46 and fraction:
                break
            if byte < 48 or byte > 57:
                valid = False
                break
            digit = np.int64(byte) - 48
            if value < -922337203685477580:
                valid = False
                break
            value = value * 10
            if value < smallest + digit:
                valid = False
                break
            value = value - digit
        while valid and j < end:
            if data[j] < 48 or data[j] > 57:
                valid = False
            j += 1
        if not valid or (not negative and value == smallest):
            continue
        if not negative:
            value = -value
        if low <= value <= high:
            out[row] = value
            status[row] = PARSED


@kernel(forceinline=True)
def _plain_number(data: UInt8Array, start: int, end: int, most_digits: int) -> tuple[int, int, int]:
    """Read ``[+-]digits[.digits]``: return the digits as a number without sign, how many they are, and those of the
    fraction. Another form, or more digits, has no digits.
    """
    at = np.int64(start)
    if at < end and (data[at] == 45 or data[at] == 43):
        at += 1
    value = np.int64(0)
    digits = np.int64(0)
    fraction = np.int64(-1)
    while at < end:
        byte = data[at]
        if byte == 46 and fraction < 0:
            fraction = np.int64(0)
        elif byte < 48 or byte > 57 or digits == most_digits:
            return np.int64(0), np.int64(0), np.int64(0)
        else:
            value = value * 10 + np.int64(byte) - 48
            digits += 1
            if fraction >= 0:
                fraction += 1
        at += 1
    return value, digits, max(fraction, 0)


@kernel
def parse_decimals(offsets: Int32Array, data: UInt8Array, scale: int, out: Int64Array, status: UInt8Array) -> None:
    """Parse ``[+-]digits[.digits]`` of at most 18 digits in all to the words of unscaled values of ``scale`` (<= 18).

    A text of another form, with more digits or a longer fraction than ``scale`` gets TOO_LARGE: the caller parses it.
    """
    for row in range(out.shape[0]):
        out[row, 0] = 0
        out[row, 1] = 0
        status[row] = TOO_LARGE
        value, digits, fraction = _plain_number(data, offsets[row], offsets[row + 1], 18)
        if digits == 0 or fraction > scale or digits + scale - fraction > 18:
            continue
        for _ in range(scale - fraction):
            value *= 10
        if data[offsets[row]] == 45:
            value = -value
        out[row, 0] = value
        out[row, 1] = value >> 63
        status[row] = PARSED


@kernel
def parse_numbers(
    offsets: Int32Array, data: UInt8Array, most_digits: int, powers: Float64Array, out: Float64Array, status: UInt8Array
) -> None:
    """Parse ``[+-]digits[.digits]`` to doubles, exactly: both the digits and their power of ten must be exact.

    ``powers`` are the exact powers of ten, float64, and ``most_digits`` the digits of which every number is exact. A
    text of another form gets TOO_LARGE: the caller parses it.
    """
    for row in range(out.shape[0]):
        out[row] = 0.0
        status[row] = TOO_LARGE
        value, digits, fraction = _plain_number(data, offsets[row], offsets[row + 1], most_digits)
        if digits == 0 or fraction >= powers.shape[0]:
            continue
        number = np.float64(value) / powers[fraction]
        out[row] = -number if data[offsets[row]] == 45 else number
        status[row] = PARSED
