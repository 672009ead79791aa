"""Parse strings in the usual forms of a date-time pattern: no signs, no more digits than a date has.

Rows of another form are flagged; the caller parses them by the rules of Java's DateTimeFormatter.
"""

from __future__ import annotations

import numpy as np

from pyspark_pipeline.kernels.arrays import BoolArray, Int16Array, Int32Array, Int64Array, UInt8Array
from pyspark_pipeline.kernels.civil import days_in, days_of
from pyspark_pipeline.kernels.jit import kernel

#: The codes of fields in a compiled pattern; a literal has the code of its byte.
YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, MICROS, CENTURY_YEAR, CLOCK_HOUR, MONTH_NAME, AM_PM, OFFSET = range(-12, 0)
_FIELDS = 12
#: The offset from UTC of a text without one.
LOCAL = -(1 << 31)
_MONTHS = np.frombuffer(b"janfebmaraprmayjunjulaugsepoctnovdec", dtype=np.uint8)


@kernel(inline="always")
def _digits(data: UInt8Array, at: int, most: int) -> tuple[int, int]:
    """Return the number of the digits at ``at`` < ``most``, and the position after them."""
    value, end = np.int64(0), at
    while end < most and 48 <= data[end] <= 57:
        value = value * 10 + np.int64(data[end]) - 48
        end += 1
    return value, end


@kernel(inline="always")
def _month_at(data: UInt8Array, at: int) -> int:
    """Return the month whose short name is at ``at``, in any case; 0 if there is none."""
    for month in range(12):
        same = True
        for letter in range(3):
            same &= data[at + letter] | 32 == _MONTHS[3 * month + letter]
        if same:
            return np.int64(month + 1)
    return np.int64(0)


@kernel(inline="always")
def _offset_at(data: UInt8Array, at: int, end: int) -> tuple[int, int]:
    """Return the offset Z or ±HH:MM in seconds and the position after it; that is ``at`` if there is none."""
    if at < end and data[at] | 32 == 122:
        return np.int64(0), at + 1
    if at + 6 > end or (data[at] != 43 and data[at] != 45) or data[at + 3] != 58:
        return np.int64(0), at
    hours, after_hours = _digits(data, at + 1, at + 3)
    minutes, after = _digits(data, at + 4, at + 6)
    if after_hours != at + 3 or after != at + 6 or minutes > 59 or hours * 60 + minutes > 18 * 60:
        return np.int64(0), at
    east = (hours * 60 + minutes) * 60
    return (-east if data[at] == 45 else east), after


@kernel
def parse_pattern(
    offsets: Int32Array, data: UInt8Array, codes: Int16Array, least: Int16Array, most: Int16Array, out: Int64Array,
    east: Int32Array, plain: BoolArray,
) -> None:  # fmt: skip
    """Write the local microseconds since 1970-01-01 (int64) of rows in a usual form; ``plain`` (bool): it is in one.

    ``codes``, ``least`` and ``most`` (int16) have an item per field with its numbers of digits, or byte of a literal.
    Absent fields are 1970, 1, 1, 0, 0 and 0. ``east`` (int32): seconds east of UTC, or ``LOCAL``.
    """
    fields = np.empty(_FIELDS, np.int64)
    for row in range(out.shape[0]):
        out[row] = 0
        east[row] = LOCAL
        plain[row] = False
        at = np.int64(offsets[row])
        end = np.int64(offsets[row + 1])
        fields[:] = -1
        valid = True
        for part in range(codes.size):
            code = codes[part]
            before = at
            if code >= 0:
                at += at < end and data[at] == code
            elif code == OFFSET:
                value, at = _offset_at(data, at, end)
                east[row] = value
            elif code == MONTH_NAME:
                value = _month_at(data, at) if at + 3 <= end else np.int64(0)
                fields[MONTH + _FIELDS] = value
                at += 3 if value else 0
            elif code == AM_PM:
                if at + 2 <= end and data[at + 1] | 32 == 109 and (data[at] | 32 == 97 or data[at] | 32 == 112):
                    fields[AM_PM + _FIELDS] = 12 if data[at] | 32 == 112 else 0
                    at += 2
            else:
                value, at = _digits(data, at, min(end, at + most[part]))
                if at - before < least[part]:
                    at = before
                for _ in range(at - before, 6 if code == MICROS else 0):
                    value *= 10
                for _ in range(6, at - before if code == MICROS else 0):
                    value //= 10
                fields[code + _FIELDS] = value
            if at == before:
                valid = False
                break
        if not valid or at != end:
            continue
        year = fields[0]
        if fields[CENTURY_YEAR + _FIELDS] >= 0:
            year = 2000 + fields[CENTURY_YEAR + _FIELDS]
        month = 1 if fields[1] < 0 else fields[1]
        day = 1 if fields[2] < 0 else fields[2]
        hour = max(fields[3], 0)
        minute = max(fields[4], 0)
        second = max(fields[5], 0)
        clock_hour = fields[CLOCK_HOUR + _FIELDS]
        if clock_hour >= 0:
            hour = clock_hour % 12 + max(fields[AM_PM + _FIELDS], 0) if 1 <= clock_hour <= 12 else np.int64(24)
        if year > 9999 or month < 1 or month > 12 or day < 1 or day > days_in(year, month):
            continue
        if hour > 23 or minute > 59 or second > 59:
            continue
        micros = max(fields[6], 0)
        seconds = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second
        out[row] = seconds * 1_000_000 + micros
        plain[row] = True
